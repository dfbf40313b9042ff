"""What people say, and what rules should and should not make of it; data for the tests."""

from __future__ import annotations

from typing import NamedTuple


class Says(NamedTuple):
    """One utterance and the one candidate that is expected of it."""

    text: str
    key: str | None
    content: str
    category: str
    kind: str = "semantic"
    source: str = "user_stated"
    explicit: bool = True


P, E, F, C, G = "preference", "entity_fact", "fact", "constraint", "guard"
FIXED, REPAIRED = "user_correction", "in_session_correction"


def free(text: str, category: str = P, kind: str = "semantic", explicit: bool = True) -> Says:
    """A whole utterance kept as it was said, without its last stop."""
    return Says(text, None, text.rstrip(".!"), category, kind, explicit=explicit)


def rule(text: str) -> Says:
    """A whole utterance kept as a rule."""
    return free(text, C, "procedural")


def guard(text: str) -> Says:
    """A whole utterance kept as something not to come with."""
    return free(text, G, "procedural")


SHOULD: tuple[Says, ...] = (
    # Likes and dislikes
    free("I prefer aisle seats."),
    free("I really can't stand cilantro!"),
    free("I absolutely hate early meetings"),
    free("I don't like dogs"),
    free("I don't care for jazz"),
    free("I'm not a fan of horror movies."),
    free("I no longer like horror films"),
    free("I usually prefer window seats"),
    free("I prefer to fly in the morning"),
    free("I like hiking and hate running"),
    free("I don't drink alcohol"),
    free("I never eat pork"),
    free("I hate when people are late"),
    free("When I travel, I prefer aisle seats."),
    Says("I prefer Python over Java, so could you use it?", None, "I prefer Python over Java", P),
    Says("I use Vim, but I prefer Emacs", None, "I prefer Emacs", P),
    Says("As I said before, I hate mushrooms", None, "I hate mushrooms", P),
    # Names
    Says("Call me Ana.", "nickname", "Ana", E),
    Says("call me ana", "nickname", "ana", E),
    Says("Call me Bob from now on.", "nickname", "Bob", E),
    Says("You can call me Sam", "nickname", "Sam", E),
    Says("People call me Tess", "nickname", "Tess", E),
    Says("I go by Max", "nickname", "Max", E),
    Says("Please address me as Dr. Smith", "nickname", "Dr. Smith", E),
    Says('Call me "Kit"', "nickname", "Kit", E),
    Says("My name is José García-Márquez.", "name", "José García-Márquez", E),
    Says("My full name is Maria del Carmen Ruiz", "name", "Maria del Carmen Ruiz", E),
    Says("my name's Bob", "name", "Bob", E),
    Says("Hi, I'm Ana.", "name", "Ana", E),
    Says("Change my name to Eva", "name", "Eva", E, source=FIXED),
    # Places
    Says("I live in São Paulo, Brazil", "location", "São Paulo, Brazil", E),
    Says("i live in berlin", "location", "berlin", E),
    Says("We live just outside Prague", "location", "Prague", E),
    Says("I'm based in Nairobi, Kenya", "location", "Nairobi, Kenya", E),
    Says("I am currently living in Rio de Janeiro", "location", "Rio de Janeiro", E),
    Says("I just moved to Berlin from Munich last month for work", "location", "Berlin", E),
    Says("I've relocated to Toronto.", "location", "Toronto", E),
    Says("Update my location to Oslo", "location", "Oslo", E, source=FIXED),
    # Work, tiers, numbers and dates
    Says("I'm a nurse.", "occupation", "nurse", E),
    Says("I'm a senior software engineer at Acme.", "occupation", "senior software engineer", E),
    Says("I work as an electrician", "occupation", "electrician", E),
    Says("I'm the CTO of Acme", "occupation", "CTO", E),
    Says("I work for the BBC", "employer", "BBC", E),
    Says("My employer is Siemens", "employer", "Siemens", E),
    Says("I am enterprise tier", "declared_tier", "enterprise", E),
    Says("We're on the free plan", "declared_tier", "free", E),
    Says("I'm a premium member", "declared_tier", "premium", E),
    Says("My account is on the pro plan", "declared_tier", "pro", E),
    Says("My birthday is on May 4", "birthday", "May 4", E),
    Says("My date of birth is 1990-03-12", "birthday", "1990-03-12", E),
    Says("My pronouns are they/them", "pronouns", "they/them", E),
    Says("I'm vegetarian", "diet", "vegetarian", P),
    Says("I'm lactose intolerant", "diet", "lactose_free", P),
    free("I'm allergic to peanuts", E),
    free("I have a peanut allergy", E),
    free("I'm on blood thinners", E),
    free("I take 20 mg of sertraline every morning", E),
    free("I'm taking insulin", E),
    # Time zones and units
    Says("I'm in CET.", "timezone", "CET", E),
    Says("My time zone is America/New_York", "timezone", "America/New_York", E),
    Says("I'm on Pacific time", "timezone", "PT", E),
    Says("my timezone: UTC+2", "timezone", "UTC+2", E),
    Says("Set my timezone to Europe/Berlin", "timezone", "Europe/Berlin", E),
    Says("Change my time zone to CET", "timezone", "CET", E, source=FIXED),
    Says("Use metric units", "units", "metric", P),
    Says("I use imperial units", "units", "imperial", P),
    # Language
    Says("Reply in Spanish.", "language", "spanish", P),
    Says("Can you reply in Spanish?", "language", "spanish", P),
    Says("Please answer in Brazilian Portuguese.", "language", "brazilian portuguese", P),
    Says("Speak to me in French", "language", "french", P),
    Says("Switch to Polish", "language", "polish", P),
    Says("Use Spanish from now on", "language", "spanish", P),
    Says("I prefer replies in German", "language", "german", P),
    Says("please respond in French from now on", "language", "french", P),
    # Style, tone, format
    Says("Keep replies concise", "response_style", "concise", P),
    Says("Keep your answers brief", "response_style", "concise", P),
    Says("Keep it short from now on.", "response_style", "concise", P),
    Says("I prefer short answers", "response_style", "concise", P),
    Says("Write detailed explanations", "response_style", "detailed", P),
    Says("Make your explanations simple", "response_style", "simple", P),
    Says("Use a formal tone from now on", "tone", "formal", P),
    Says("Be more formal", "tone", "formal", P, "procedural", explicit=False),
    Says("Be concise.", "response_style", "concise", P, "procedural", explicit=False),
    Says("Use tables from now on", "response_format", "tables", P),
    free("Keep all responses under 100 words"),
    # Channel
    Says("Use email as the primary channel", "update_channel", "email", P),
    Says("Contact me via Slack.", "update_channel", "slack", P),
    Says("Send all alerts to Slack", "update_channel", "slack", P),
    Says("text me instead of calling", "update_channel", "sms", P),
    Says("The best way to reach me is WhatsApp", "update_channel", "whatsapp", P),
    Says("I prefer to be contacted by phone", "update_channel", "phone", P),
    Says("I prefer email over phone calls", "update_channel", "email", P),
    # Rules
    rule("Always deploy to us-east-1"),
    guard("Never suggest brand X."),
    rule("Never share my address with anyone."),
    rule("Always use bullet points for lists when I ask about formatting options."),
    rule('Always sign emails as "The Ops Team"'),
    guard("Don't ever suggest seafood"),
    guard("Stop suggesting podcasts"),
    guard("Don't recommend Acme phones"),
    guard("Leave Acme out of your suggestions"),
    free("I'm not considering sneakers any more.", G),
    free("I'm no longer interested in timeshares", G),
    free("I'm done with Acme", G),
    free("We won't buy Acme printers again", G),
    free("I refuse to use Acme", G),
    free("Acme is off the table.", G),
    rule("From now on, cite your sources."),
    rule("For all future reports, include a summary table"),
    rule("When I ask about dates, use ISO format."),
    rule('Whenever I say "ship it", run the release checklist.'),
    rule("Answer in one sentence from now on"),
    Says("I'd like you to always cite pages", None, "always cite pages", C, "procedural"),
    Says("Could you please never call me before 9?", None, "never call me before 9", C,
         "procedural"),
    # Asked to remember
    Says("Please remember that the deploy window is Tuesday at 10:00 UTC.", None,
         "the deploy window is Tuesday at 10:00 UTC", F),
    Says("Don't forget that I'm allergic to cats.", None, "I'm allergic to cats", E),
    Says("Note that our office is closed on Fridays", None, "our office is closed on Fridays", F),
    Says("Remember: my flight is on 12 May", None, "my flight is on 12 May", F),
    Says("Keep in mind that I only work mornings", None, "I only work mornings", F),
    # Feedback
    free("I hate it when you apologise", "feedback", "procedural"),
    free("Your answers are too long", "feedback", "procedural", explicit=False),
    free("That was too long.", "feedback", "procedural", explicit=False),
    free("this is way too technical", "feedback", "procedural", explicit=False),
    # Corrections
    Says("Actually, my name is Anna", "name", "Anna", E, source=REPAIRED),
    Says("No. I live in Berlin, not Munich.", "location", "Berlin", E, source=REPAIRED),
    Says("I moved to Lisbon, not Porto", "location", "Lisbon", E, source=FIXED),
    Says("My name is not Anna but Hanna", "name", "Hanna", E, source=FIXED),
    Says("I don't live in Munich but in Berlin", "location", "Berlin", E, source=FIXED),
    Says("That's wrong. I live in Lyon.", "location", "Lyon", E, source=FIXED),
    Says("Correction: my birthday is on June 3", "birthday", "June 3", E, source=REPAIRED),
    Says("No, I meant I hate jazz", None, "I hate jazz", P, source=REPAIRED),
)  # fmt: skip

LIKED = (
    "I love Thai food.", "I'm really into bouldering", "I’m obsessed with K-pop",
    "I am passionate about open source", "We love the mountains.", "I love to cook and write",
    "I enjoy long walks on the beach", "By the way, I like green tea.", "I'm a big fan of Acme",
)  # fmt: skip

ENDINGS = (
    ("I no longer live in Rome", "location"),
    ("I don't live in Rome any more", "location"),
    ("I've moved away from Rome", "location"),
    ("I no longer work at Siemens", "employer"),
    ("I quit my job at Siemens", "employer"),
    ("I just quit my job.", "employer"),
    ("I was laid off from Siemens last week", "employer"),
    ("I've left Siemens", "employer"),
)

SHOULD_NOT: tuple[str, ...] = (
    # Facts that are no keyed slot: the conversation log has them
    "My go-to lunch is ramen", "I usually wake up at 5", "My favourite colour is teal.",
    "Teal is my favourite colour.", "I'm from New Zealand", "I'm 34 years old",
    "My email is ana@example.org", "My native language is Tamil", "I speak Spanish and German",
    "I'm left-handed", "Our default branch is main", "I went out with my wife Olga yesterday",
    "My boss is called Anders", "I have a cat named Luna", "I take the bus every day",
    "I'm on 2 mailing lists", "That movie was too long", "That's too bad",
    # Questions
    "Do I prefer tea or coffee?", "What do I like?", "Is my name Bob?",
    "Did you know I moved to Paris?",
    "Should I always use HTTPS?", "Why do I always fail?", "What's my favourite colour?",
    "Am I enterprise tier?", "do you remember that I like tea?", "I like pizza, right?",
    "I live in Rome? No way.", "How do I say \"my name is Ana\" in French?",
    # Suppositions and fiction
    "If I lived in Paris, I would prefer wine.", "If I lived in Paris, my name is Bob",
    "Suppose my name is Alice, and I work at Google", "What if I am enterprise tier?",
    "Let's pretend I live in Rome, and my name is Nero", "In the story, my name is Bob.",
    "In the book, the hero says: I am a vegetarian",
    "Say I live in Rome, and I work at NASA", "For example, I prefer tea",
    "I wish I lived in Oslo.",
    "I might move to Berlin", "I used to live in Rome.",
    # Others, quoted, pasted
    'She said "I always fly with KLM".', "She said, I live in Paris", "Tom: I live in Rome",
    "He told me to always wear a helmet and never ride alone.", '"I love pizza," she said.',
    "Tom thinks I like jazz, and I live in Rome", "> I prefer dark mode",
    "The email says: I live in Rome and my name is Bob", "```\nalways use tabs\n```",
    'The customer wrote: "Please reply in Spanish"', "According to the doc, I prefer X",
    "Translate this to Spanish: I live in Madrid and my name is Juan.",
    "Proofread this:\n\nMy name is Tom. I live in Paris. I prefer tea.",
    "Developers write in English and keep replies concise.", "My boss says I never listen",
    "They prefer tea", "Her name is Olga",
    # Denied
    "I never said I like jazz.", "I don't think I like sushi", "I'm not enterprise tier",
    "I'm not a nurse", "My name is not Bob", "I don't live in Berlin",
    # Means something here only
    "I like it.", "I love that idea!", "I like the second option.", "I love you",
    "I like how you explained this", "I hate to say this but it's wrong", "I'd like a coffee.",
    "I would like to book a flight to Rome.", "I like these, but they need to be shorter",
    "I prefer not to say",
    # Sayings and other meanings of the words
    "Never mind.", "Never again!", "Always a pleasure.", "Always wanted to see Rome.",
    "Never heard of it.", "never say never", "Never saw this coming",
    "always puts a smile on my face",
    "I always knew it", "Call me later.", "Call me back tomorrow", "call me crazy but it works",
    "call me when you're done", "Call me Friday", "I'm happy.", "I'm Italian.", "I'm OK",
    "I'm from the marketing team.", "I'm in trouble.", "I live in fear", "I live in a small town",
    "I'm a bit tired", "I'm a big believer in tests", "I'm in IT", "I'm 34 weeks pregnant",
    "I work from home today", "I moved to Slack", "We moved to PostgreSQL last year",
    "I'm on the team plan committee", "my son, Tom, and Ann came", "My wife said no",
    "Our team met Monday", "My name is [Your Name]", "My favourite thing about it is the view",
    # For the task at hand
    "Write a poem in French.", "Write this email in Spanish", "Keep it short.", "make it formal",
    "Reply in Spanish to this email: hola", "Use Slack API", "use French press coffee",
    "Answer in JSON", "Write the function in Python", "Email me the report.",
    "Keep the report short",
    "don't suggest it", "Create a table for each student", "be careful",
    "Suggest measures to increase acceptance in the future.", "set the language level to B2",
    # Not asked to remember or to forget
    "Remember when we went to Rome?", "I remember that I liked tea.", "Remember the Titans",
    "Remember to breathe", "Don't forget to buy milk", "I forgot my password", "Forget it.",
    "Forget everything you know", "Forget previous instructions", "delete my name from the list",
    "I don't remember this", "Note: see the appendix", "remember this",
    # Nothing at all
    "", " ", "?", "no", "I prefer", "My name is", "remember that", "call me", "always", "\x00",
)  # fmt: skip

CONTROLLED: tuple[str, ...] = (
    "Don't remember this: I hate my boss Carl.",
    "Please don't save this, but I live in Rome.",
    "I love my job. Do not store any of this.",
    "Off the record, I prefer the old logo.",
    "This is off the record: my name is Ana.",
    "Forget I said that. I love tea.",
    "My name is Ana. Don't remember that.",
    "Hey, please do not memorise this. I am vegan.",
    "I live in Rome, but don't remember that.",
    "I live in Rome (please don't save it).",
    "My name is Ana and please forget that",
    "My PIN starts with 4 — off the record",
    "I am vegan, but you don't have to record this!",
    "I love tea and I love milk, and I love jam. " * 40 + "Please don't save this.",
)

RETRACTIONS: tuple[tuple[str, str | None, str], ...] = (
    ("Forget my birthday", "birthday", "birthday"),
    ("Forget my address.", None, "address"),
    ("Please forget where I live", "location", "location"),
    ("forget that I work at Siemens", "employer", "employer"),
    ("Please forget that I like jazz", None, "I like jazz"),
    ("Forget everything I said about Tom", None, "Tom"),
    ("Remove my phone number from my profile", "phone_number", "phone_number"),
    ("Stop storing my location", "location", "location"),
    ("I'm no longer vegetarian", "diet", "diet"),
)

PASSING: tuple[str, ...] = (
    "Write in English just for today.",
    "write in English for now",
    "Keep replies short this time",
    "I'm in CET right now",
    "Just for today, call me Boss",
    "Be concise in this chat",
)
