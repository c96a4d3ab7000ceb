"""Which messages need the conversation before them, told from their words."""

import pytest

from agent.small.small import refers_back

FOLLOW_UPS = [
    "and the 60th?",
    "what about 2024?",
    "What about in 'azalea'?",
    "How about the other one?",
    "Is it prime?",
    "What is its capital?",
    "How old is he?",
    "Who wrote them?",
    "Multiply that by 3",
    "Is that prime?",
    "double that",
    "how many days is that before 1 January 1900?",
    "Convert this to miles.",
    "Do it again with 17.",
    "again, please",
    "Once more for 1000",
    "the same for 2021",
    "And the other way round, for 35?",
    "in miles?",
    "For 12 instead",
    "why?",
    "2024?",
    "Which is larger, the result or 500?",
    "Is it prime and what is its square?",
    "the 60th?",
    "What was the previous answer?",
    "How many digits does that number have?",
]
ALONE = [
    "What is the 57th Fibonacci number?",
    "How many vowels are in 'that is it'?",
    "A pump fills 240 litres in 6 minutes. How long does it take for 1000 litres?",
    "What is the smallest number that divides by 3 and 7?",
    "How many primes are below 500?",
    "Is there a leap year between 1897 and 1903?",
    "How long does it take to fill 30 buckets at 4 a minute?",
    "If a ball is dropped from 20 m, when does it hit the ground?",
    'Reverse the text "do it again"',
    "Capital of France",
    "Is it true that 7 divides 91?",
    "Which of the numbers that are below 30 is the largest prime?",
    "How many weekdays are between 3 May 2021 and 9 June 2021?",
    "When did the war end and who won it?",
    "Who wrote Faust and how old was he then?",
    "Good morning!",
    "Write 'the same again' in Morse code.",
    "Wie viele Tage hat der Februar 2024?",
    "Sort these words: pear, apple, fig",
    "A long story about them. " * 40,
]


@pytest.mark.parametrize("message", FOLLOW_UPS)
def test_a_message_that_points_back_is_seen(message: str) -> None:
    assert refers_back(message)


@pytest.mark.parametrize("message", ALONE)
def test_a_question_that_stands_alone_is_left_alone(message: str) -> None:
    assert not refers_back(message)
