import js from "@eslint/js";

const names = ["AbortController", "ResizeObserver", "TextDecoder", "TextEncoder", "TextDecoderStream", "URLSearchParams", "Blob", "CustomEvent", "CustomEventTarget",
  "Document", "DOMRect", "Element", "Event", "EventTarget", "HTMLCanvasElement", "HTMLElement", "Image", "ImageData", "Intl", "KeyboardEvent", "Node", "Path2D", "SVGSVGElement",
  "Text", "URL", "XMLSerializer", "addEventListener", "atob", "cancelAnimationFrame", "clearTimeout", "customElements", "dispatchEvent", "document", "fetch",
  "getComputedStyle", "history", "innerHeight", "innerWidth", "localStorage", "location", "matchMedia", "navigator", "performance", "removeEventListener",
  "requestAnimationFrame", "scrollTo", "sessionStorage", "setTimeout", "structuredClone", "window", "DOMException", "clearInterval", "setInterval"];

export default [
  { ignores: ["**/vendor/**"] },
  js.configs.recommended,
  {
    files: ["**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: Object.fromEntries(names.map((name) => [name, "readonly"])) },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "eqeqeq": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-shadow": "off",
      "no-unused-vars": ["error", { args: "after-used", varsIgnorePattern: "^gone$", argsIgnorePattern: "^_" }],
      "no-console": "error",
      "no-implicit-globals": "error",
      "max-len": ["error", { code: 120 }],
      "max-lines": ["error", 450],
      "object-shorthand": "error",
      "prefer-template": "error",
    },
  },
];
