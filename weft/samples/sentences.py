"""A few everyday sentences, for showing a translator at work and for checking one where nothing else is at hand."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "en": (
        "Good morning!",
        "I would like a cup of coffee, please.",
        "Where is the nearest train station?",
        "She has been learning German for two years.",
        "The weather was so bad that we stayed at home.",
        "Tom doesn't know what he should do.",
        "Do you want to go to the movies with me tonight?",
        "My brother bought a new car yesterday.",
        "If I had more time, I would read more books.",
        "The cat is sleeping on the sofa.",
    ),
}
