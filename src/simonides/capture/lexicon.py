"""The words that the rules know: data only, mostly English.

Each table maps the words of users (lower case) to the one form that is stored, or lists words that
a rule accepts or refuses. To teach the rules a word, add it here; no code changes.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a table that is written as a text."""
    return frozenset(text.split())


# Keys under which facts are proposed, as the policy names them.
LANGUAGE = "language"
RESPONSE_STYLE = "response_style"
RESPONSE_FORMAT = "response_format"
TONE = "tone"
UPDATE_CHANNEL = "update_channel"
DECLARED_TIER = "declared_tier"
TIME_ZONE = "timezone"
UNITS = "units"
USER_NAME = "name"
PREFERRED_NAME = "nickname"
PRONOUNS = "pronouns"
HOME_LOCATION = "location"
ORIGIN_PLACE = "hometown"
OCCUPATION = "occupation"
EMPLOYER = "employer"
DIET = "diet"
AGE = "age"
BIRTHDAY = "birthday"

LANGUAGES = {
    name: name
    for name in words(
        """
    afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian
    bulgarian burmese cantonese catalan chinese croatian czech danish dutch english esperanto
    estonian finnish french galician georgian german greek gujarati haitian hausa hebrew hindi
    hungarian icelandic igbo indonesian irish italian japanese javanese kannada kazakh khmer
    korean kurdish lao latin latvian lithuanian macedonian malay malayalam maltese mandarin
    maori marathi mongolian nepali norwegian pashto persian polish portuguese punjabi romanian
    russian sanskrit serbian sinhala slovak slovenian somali spanish swahili swedish tagalog
    tamil telugu thai tibetan turkish ukrainian urdu uzbek vietnamese welsh xhosa yoruba zulu
    """
    )
} | {
    "american english": "american english",
    "us english": "american english",
    "british english": "british english",
    "uk english": "british english",
    "brazilian portuguese": "brazilian portuguese",
    "simplified chinese": "simplified chinese",
    "traditional chinese": "traditional chinese",
    "farsi": "persian",
    "filipino": "tagalog",
    "deutsch": "german",
    "español": "spanish",
    "français": "french",
    "italiano": "italian",
    "português": "portuguese",
}

# response_style is about length and depth, tone about manner, response_format about shape: three
# keys, so that "keep it short" does not undo "be formal".
STYLES = {
    "concise": "concise",
    "short": "concise",
    "brief": "concise",
    "terse": "concise",
    "succinct": "concise",
    "crisp": "concise",
    "compact": "concise",
    "to the point": "concise",
    "short and sweet": "concise",
    "detailed": "detailed",
    "long": "detailed",
    "thorough": "detailed",
    "in-depth": "detailed",
    "in depth": "detailed",
    "comprehensive": "detailed",
    "verbose": "detailed",
    "elaborate": "detailed",
    "step by step": "step_by_step",
    "step-by-step": "step_by_step",
    "simple": "simple",
    "plain": "simple",
    "non-technical": "simple",
    "nontechnical": "simple",
    "technical": "technical",
}
TONES = {
    "formal": "formal",
    "professional": "formal",
    "polite": "polite",
    "casual": "casual",
    "informal": "casual",
    "relaxed": "casual",
    "conversational": "casual",
    "friendly": "friendly",
    "warm": "friendly",
    "humorous": "humorous",
    "funny": "humorous",
    "direct": "direct",
    "blunt": "direct",
    "straightforward": "direct",
}
FORMATS = {
    "bullet points": "bullet_points",
    "bullets": "bullet_points",
    "bulleted lists": "bullet_points",
    "bullet lists": "bullet_points",
    "numbered lists": "numbered_lists",
    "tables": "tables",
    "markdown": "markdown",
    "plain text": "plain_text",
    "paragraphs": "prose",
    "prose": "prose",
    "json": "json",
}
CHANNELS = {
    "email": "email",
    "e-mail": "email",
    "mail": "email",
    "slack": "slack",
    "sms": "sms",
    "text": "sms",
    "text message": "sms",
    "text messages": "sms",
    "phone": "phone",
    "phone call": "phone",
    "phone calls": "phone",
    "telephone": "phone",
    "whatsapp": "whatsapp",
    "telegram": "telegram",
    "signal": "signal",
    "discord": "discord",
    "teams": "teams",
    "ms teams": "teams",
    "microsoft teams": "teams",
    "push notifications": "push",
    "push notification": "push",
    "pagerduty": "pagerduty",
    "webhook": "webhook",
}
CHANNEL_VERBS = {"email": "email", "e-mail": "email", "text": "sms", "phone": "phone"}
# Tiers that mean one with any of "tier", "plan", "customer", "member"…
STRONG_TIERS = frozenset({"enterprise", "premium", "pro", "platinum", "gold", "silver", "vip"})
# These are ordinary words too ("team member", "business user") and need "tier" or "plan".
WEAK_TIERS = frozenset(
    {"basic", "bronze", "business", "developer", "free", "plus", "standard", "starter", "team"}
)
# Abbreviations are believed in capitals only: "ist" and "est" are words elsewhere.
ZONE_CODES = words(
    """
    ACDT ACST ADT AEDT AEST AKDT AKST AST AWST BRT BST CAT CDT CEST CET CST CT EAT EDT EEST EET
    EST ET GMT HKT HST ICT IDT IST JST KST MDT MSK MST MT MYT NZDT NZST PDT PHT PKT PST PT SAST
    SGT UTC WAT WEST WET WIB
    """
)
SPOKEN_ZONES = {
    "pacific": "PT",
    "mountain": "MT",
    "eastern": "ET",
    "central european": "CET",
    "greenwich mean": "GMT",
}
ZONE_REGIONS = "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific"
UNIT_SYSTEMS = {
    "metric": "metric",
    "imperial": "imperial",
    "celsius": "metric",
    "kilometers": "metric",
    "kilometres": "metric",
    "fahrenheit": "imperial",
    "miles": "imperial",
}
DIETS = {
    "vegetarian": "vegetarian",
    "vegan": "vegan",
    "pescatarian": "pescatarian",
    "flexitarian": "flexitarian",
    "celiac": "gluten_free",
    "coeliac": "gluten_free",
    "gluten-free": "gluten_free",
    "lactose intolerant": "lactose_free",
    "lactose-intolerant": "lactose_free",
}

# Unique relatives, and the key of the name.
ONE_RELATION = {
    "wife": "wife_name",
    "husband": "husband_name",
    "spouse": "spouse_name",
    "fiancé": "fiance_name",
    "fiancée": "fiance_name",
    "fiance": "fiance_name",
    "fiancee": "fiance_name",
    "girlfriend": "girlfriend_name",
    "boyfriend": "boyfriend_name",
    "partner": "partner_name",
    "mother": "mother_name",
    "mom": "mother_name",
    "mum": "mother_name",
    "father": "father_name",
    "dad": "father_name",
    "boss": "manager_name",
    "manager": "manager_name",
}
# Relatives, friends and pets; there may be several of each.
MANY_RELATION = words(
    """
    assistant aunt baby brother cat child coach colleague cousin coworker daughter dog flatmate
    friend grandfather grandma grandmother grandpa grandson granddaughter horse intern kid
    mentor neighbor neighbour nephew niece parrot pet puppy rabbit roommate sister son
    stepdaughter stepson teacher therapist uncle
    """
)

OCCUPATIONS = words(
    """
    academic accountant activist actor actress actuary administrator advisor analyst animator
    anthropologist archaeologist architect archivist artist astronomer athlete attorney auditor
    author baker banker barber barista bartender biologist blogger bookkeeper broker builder
    businessman businesswoman butcher carpenter cashier ceo cfo chef chemist choreographer
    cleaner clerk coach comedian composer consultant contractor cook coordinator coo copywriter
    counselor counsellor cto curator dancer dentist designer developer devops dietitian
    dietician director doctor driver economist editor educator electrician engineer entrepreneur
    farmer filmmaker firefighter fisherman freelancer gardener geologist hairdresser headmaster
    historian housekeeper illustrator instructor interpreter investigator investor janitor
    jeweller jeweler journalist judge lawyer lecturer librarian lifeguard linguist locksmith
    machinist manager marketer mathematician mechanic meteorologist midwife miner model musician
    nanny neurologist neuroscientist novelist nurse nutritionist officer operator optician
    painter paralegal paramedic pastor pathologist pediatrician pharmacist philosopher
    photographer physician physicist physiotherapist pianist pilot planner plumber poet
    policeman policewoman postdoc potter principal producer professor programmer psychiatrist
    psychologist radiologist realtor receptionist recruiter reporter researcher retiree sailor
    salesman salesperson saleswoman scientist scrum-master screenwriter sculptor secretary
    seller singer sociologist soldier solicitor specialist statistician stockbroker strategist
    streamer student superintendent supervisor surgeon surveyor tailor teacher technician
    technologist therapist trader tradie trainer translator tutor typist underwriter
    veterinarian vet videographer violinist waiter waitress welder writer youtuber zoologist
    """
)

# Words after "my" and "forget my": attribute as said → key. A key without a shape in
# values.SHAPES can be forgotten, but is not read.
ATTRIBUTES = {
    "birthday": BIRTHDAY,
    "date of birth": BIRTHDAY,
    "email": "email_address",
    "e-mail": "email_address",
    "email address": "email_address",
    "phone number": "phone_number",
    "mobile number": "phone_number",
    "cell number": "phone_number",
    "number": "phone_number",
    "pronouns": PRONOUNS,
    "time zone": TIME_ZONE,
    "timezone": TIME_ZONE,
    "preferred language": LANGUAGE,
    "native language": "native_language",
    "mother tongue": "native_language",
    "first language": "native_language",
    "name": USER_NAME,
    "full name": USER_NAME,
    "first name": USER_NAME,
    "nickname": PREFERRED_NAME,
    "preferred name": PREFERRED_NAME,
    "job": OCCUPATION,
    "profession": OCCUPATION,
    "occupation": OCCUPATION,
    "job title": OCCUPATION,
    "employer": EMPLOYER,
    "hometown": ORIGIN_PLACE,
    "home town": ORIGIN_PLACE,
    "tier": DECLARED_TIER,
    "plan": DECLARED_TIER,
    "subscription": DECLARED_TIER,
    "subscription plan": DECLARED_TIER,
    "account": DECLARED_TIER,
    "account tier": DECLARED_TIER,
    "preferred channel": UPDATE_CHANNEL,
    "preferred contact method": UPDATE_CHANNEL,
    "diet": DIET,
    "age": AGE,
    "deploy region": "deploy_region",
    "deployment region": "deploy_region",
}
# Further names for a fact that the user wants forgotten.
RETRACT_ALIASES = (
    ATTRIBUTES
    | ONE_RELATION
    | {
        "language": LANGUAGE,
        "language preference": LANGUAGE,
        "location": HOME_LOCATION,
        "city": HOME_LOCATION,
        "home": HOME_LOCATION,
        "where i live": HOME_LOCATION,
        "channel": UPDATE_CHANNEL,
        "tone": TONE,
        "units": UNITS,
        "company": EMPLOYER,
        "work": OCCUPATION,
        "phone": "phone_number",
        "response style": RESPONSE_STYLE,
        "color preference": "favorite_color",
        "colour preference": "favorite_color",
    }
)

# Categories of keys; any other key is a fact about the user or a related person.
CATEGORIES = {
    LANGUAGE: "preference",
    RESPONSE_STYLE: "preference",
    RESPONSE_FORMAT: "preference",
    TONE: "preference",
    UPDATE_CHANNEL: "preference",
    UNITS: "preference",
    DIET: "preference",
}

MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)

STYLE_ADVERBS = {
    "briefly": "brief",
    "concisely": "concise",
    "succinctly": "succinct",
    "thoroughly": "thorough",
    "formally": "formal",
    "politely": "polite",
    "casually": "casual",
    "informally": "informal",
    "directly": "direct",
    "professionally": "professional",
}

# First words that make a clause an instruction to the assistant.
IMPERATIVES = words(
    """
    add address adjust chat change clear communicate delete drop erase forget quit refrain
    remove route run print double-check alert always answer apply ask assume attach avoid be
    begin book bring call check choose cite compare confirm consider contact convert copy create
    default describe display do don't draft e-mail email end ensure escalate exclude explain
    file flag follow format forward generate give greet help highlight include inform keep label
    leave limit link list log make mention message never note notify offer omit only order
    organise organize phone ping pick place prefer present prioritise prioritize propose provide
    put quote reach recommend refer refrain remember remind reply report respond return round
    save schedule send set share show sign skip sort speak spell stick start stop store
    structure suggest summarise summarize tag tailor talk switch set tell text track translate
    treat update use verify warn work wrap write
    """
)

# Verbs of work for a user: "always verify …" is a rule for the assistant, "always loved …" is not.
ERRANDS = IMPERATIVES | words(
    """
    acknowledge allow anonymise anonymize arrange assign back break calculate cancel capitalise
    capitalize categorise categorize close combine commit compute consult count deploy disclose
    double-check encrypt escape estimate evaluate expand factor flag focus get go handle
    hyphenate identify indent install invite itemise itemize let list look maintain mask measure
    merge name obtain open order park pay point preserve protect push read recheck record redact
    reference register rely require research reserve review run search select separate specify
    submit suppress switch tailor take test trim try turn type upload validate verify wait wear
    wipe
    """
)
