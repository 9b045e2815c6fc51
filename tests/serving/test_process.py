"""The whole thing: `weft serve` in a process of its own, and a client of LibreTranslate's that knows nothing of it."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from libretranslatepy import LibreTranslateAPI

from benchmarks.load import press
from weft.tasks.translator import Translator


@pytest.fixture(scope="module")
def address(toy: Translator) -> Iterator[str]:
    words = ["serve", str(toy.folders[0].path), "--port", "0", "--characters", "100000", "--engine", "torch"]
    with subprocess.Popen(
        [sys.executable, "-m", "weft", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "WEFT_API_KEY": "geheim"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test runner may ignore it
    ) as process:
        try:
            assert process.stdout
            told = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", told)
            assert found, told
            for _ in range(200):  # the socket is open before the application has begun
                if _is_up(found[0]):
                    break
                time.sleep(0.1)
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130


def _is_up(address: str) -> bool:
    try:
        with urlopen(f"{address}/health", timeout=30) as answer:
            return json.load(answer) == {"status": "ok"}
    except OSError:
        return False


def test_a_client_of_libretranslate_works_unchanged(address: str, toy: Translator) -> None:
    client = LibreTranslateAPI(address, api_key="geheim")
    assert client.translate("red cat", "en", "de") == toy.translate(["red cat"])[0]
    assert [language["code"] for language in client.languages()] == ["en", "de"]
    found = client.detect("red cat")
    assert {one["language"] for one in found} == {"en", "de"}
    assert found[0]["confidence"] >= found[1]["confidence"]
    with pytest.raises(HTTPError) as error:
        client.translate("red cat", "en", "fr")
    assert error.value.code == 400
    with pytest.raises(HTTPError) as error:
        LibreTranslateAPI(address).translate("red cat", "en", "de")
    assert (error.value.code, json.load(error.value)) == (403, {"error": "this service requires an API key."})


def test_a_disconnected_client_leaves_the_queue(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps({"q": "red cat. " * 10_000, "source": "en", "target": "de", "api_key": "geheim"})
    with socket.create_connection((host, int(port))) as line:
        head = ["POST /translate HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        line.sendall("\r\n".join([*head, "", body]).encode())
        _until(address, "weft_queue_requests 1.0")
    _until(address, "weft_queue_requests 0.0")
    _until(address, 'weft_requests_total{route="/translate",status="499"} 1.0')


def _until(address: str, line: str) -> None:
    asked = Request(f"{address}/metrics", headers={"Authorization": "Bearer geheim"})
    for _ in range(300):
        with urlopen(asked, timeout=30) as answer:
            if line in answer.read().decode().splitlines():
                return
        time.sleep(0.1)
    raise AssertionError(f"{line} never came")


def test_many_clients_at_once_and_none_lost(address: str) -> None:
    found = asyncio.run(press(address, clients=40, seconds=2.0, key="geheim"))
    assert found["lost"] == 0
    assert found["requests"] >= 40
