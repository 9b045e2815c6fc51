"""What a glossary does to the translations of the shipped model.

    python -m benchmarks.glossary
    python -m benchmarks.glossary --quick --json

For each term that occurs: is it in the translation, and is the usual word there as well? For each sentence: what
fraction of the other words of its unconstrained translation is still there? Measured twice: with terms that replace the
word that the model would have written, as in `weft serve`, and with terms that replace none.
"""

import re
from statistics import mean
from typing import Any

from benchmarks.record import arguments, record
from benchmarks.tables import glossary as table
from weft.data.sentences import split_sentences
from weft.decoding import Beam, Constrained, Phrase
from weft.serving.glossary import Term, occurring, phrases_of
from weft.tasks import load
from weft.tasks.translator import Translator

TERMS = {  # the target term, and how the usual words begin
    "dog": ("Köter", "Hund"), "house": ("Hütte", "Haus|Häuser"), "car": ("Karre", "Auto|Wagen|Fahrzeug"),
    "cat": ("Mieze", "Katze|Kater"), "letter": ("Depesche", "Brief"), "teacher": ("Pauker", "Lehrer"),
    "money": ("Kohle", "Geld"), "work": ("Maloche", "Arbeit|Werk"), "weather": ("Witterung", "Wetter"),
    "train": ("Bahn", "Zug|Züge"), "book": ("Schmöker", "Buch|Bücher"), "friend": ("Kumpel", "Freund"),
    "doctor": ("Quacksalber", "Arzt|Ärzt|Doktor"), "New York": ("Gotham", "New|York"), "father": ("Papa", "Vater"),
    "mother": ("Mama", "Mutter"), "job": ("Posten", "Arbeit|Job|Stelle|Beruf"),
    "city": ("Metropole", "Stadt|Städt"), "boy": ("Bursche", "Junge"), "girl": ("Fräulein", "Mädchen"),
    "room": ("Kammer", "Zimmer|Raum"), "water": ("H2O", "Wasser"), "police": ("Polente", "Polizei"),
    "computer": ("Rechner", "Computer"), "LocalModel States": ("Amerika", "Vereinigten|Staaten|USA"),
    "Tom": ("Thomas", "Tom"), "bicycle": ("Drahtesel", "Fahrrad"),
}  # fmt: skip
SENTENCES = """
The dog sleeps. My dog is bigger than yours. I have to feed the dog before I leave. We bought a new house last year.
There is a garden behind the house. Their house is near the station. My car is broken. He washes his car every Sunday.
Where did you park the car? The cat drank the milk. Have you seen my cat? A black cat crossed the road.
Our teacher speaks three languages. The teacher asked me a question. She wants to become a teacher.
I don't have enough money. He spent all his money on books. Can you lend me some money? I have a lot of work to do.
She goes to work by bus. His work is very interesting. The weather was bad, so we stayed at home.
I hope the weather will be nice tomorrow. The book is on the table. I read this book when I was young.
Who wrote that book? My best friend lives in Berlin. I met an old friend at the party. You should see a doctor.
The doctor told him to stop smoking. I want to go to New York. She has been living in New York for ten years.
The teacher gave the book to my friend. The dog and the cat sleep in the house. My friend left his money in the car.
The doctor drives his car to work. My father works in a bank. Her mother is a nurse. I lost my job last week.
The city is very old. The train was late because of the snow. He wrote a long letter to his mother.
The boy is eating an apple. That girl is very beautiful. Please clean your room. Can I have a glass of water?
Call the police! My computer doesn't work anymore. He was born in the LocalModel States. Tom doesn't like coffee.
I go to school by bicycle. Tom and his father live in the city. The police found the letter in the room.
The girl gave the boy some water. If I had a computer, I would write you a letter.
She left the room without saying a word. What time does the next train leave? The boy who broke the window ran away.
My mother's room is small. There are many museums in this city. I need a new bicycle. Is the water cold?
Tom said that the train was full. The job was harder than I thought. The girl's father bought her a computer.
"""


def translated(translator: Translator, sentence: str, glossary: list[Term], is_placed: bool) -> tuple[str, str]:
    """Without the glossary, and with it."""
    free = next(translator.search([sentence], Beam()))[0]
    phrases = phrases_of(list(occurring(glossary, sentence)), sentence, free.ids, translator)
    if not is_placed:
        phrases = tuple(Phrase(phrase.tokens) for phrase in phrases)
    return free.text, next(translator.search([sentence], Constrained(phrases, translator.tokeniser.inner)))[0].text


def measured(translator: Translator, sentences: list[str], is_placed: bool) -> dict[str, Any]:
    glossary = [Term(source=source, target=target) for source, (target, _) in TERMS.items()]
    terms = come = beside = 0
    stays, translations = [], []
    for sentence in sentences:
        both = translated(translator, sentence, glossary, is_placed)
        free, made = (re.findall(r"\w+", text) for text in both)
        usual = [TERMS[term.source] for term, _ in occurring(glossary, sentence)]
        terms += len(usual)
        come += sum(target in made for target, _ in usual)
        beside += sum(any(re.match(begins, word) for word in made) for _, begins in usual)
        others = [word for word in free if not any(re.match(begins, word) for _, begins in usual)]
        stays.append(sum(word in made for word in others) / max(1, len(others)))
        translations.append((sentence, *both))
    return {"terms": terms, "come": come, "beside": beside, "stay": mean(stays), "translations": translations}


def main() -> None:
    given = arguments(__doc__, quick="a dozen sentences").parse_args()
    translator = load("en-de")
    sentences = [sentence for sentence, _ in split_sentences(SENTENCES.strip())][: 12 if given.quick else None]
    found = {
        "terms in the place of the usual word": measured(translator, sentences, is_placed=True),
        "terms where they are likeliest, for comparison": measured(translator, sentences, is_placed=False),
    }
    record(given, "glossary", found, table(found), seeds=())


if __name__ == "__main__":
    main()
