"""A chatbot that remembers its user between conversations.

The first conversation uses the memory by hand: a digest goes into the prompt, and both messages
are added afterwards. The second one wraps the client, which does the same in two lines.

    pip install "simonides[openai]"
    python chatbot.py

The model is a small local server with scripted rules. For a real one, write `openai.OpenAI()`.
"""

import openai

import simonides
from simonides.testing.model_server import ModelServer, Received, Reply, saying

MODEL = "gpt-5-mini"
STATED = "I prefer aisle seats when I fly."
ASKED = "Which seat do I get on my flight?"


def answer(request: Received) -> Reply:
    """Stand in for a language model: it knows only what the prompt says."""
    prompt = str(request.body["messages"])
    if "Which seat" not in prompt:
        return saying("Noted.")
    return saying("An aisle seat, as always." if "prefer aisle" in prompt else "I do not know.")


def chat(client: openai.OpenAI, session: simonides.Session, said: str) -> str:
    digest = session.digest(said)
    completion = client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": f"You are a travel agent.\n\n{digest}"},
            {"role": "user", "content": said},
        ],
    )
    reply = completion.choices[0].message.content or ""
    session.add([{"role": "user", "content": said}, {"role": "assistant", "content": reply}])
    return reply


def first_conversation(client: openai.OpenAI, memory: simonides.Memory) -> None:
    session = memory.session("monday")
    print("Monday:  ", chat(client, session, STATED))
    report = session.end()
    print("Stored:  ", report.entries, "messages")


def second_conversation(client: openai.OpenAI, memory: simonides.Memory) -> None:
    client = simonides.wrap(client, memory.session("tuesday"))
    completion = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": ASKED}]
    )
    print("Tuesday: ", completion.choices[0].message.content)


def main() -> None:
    with ModelServer(answers=answer) as server, simonides.open("memory.db") as store:
        client = openai.OpenAI(api_key="none", base_url=server.base_url)
        memory = store.memory(user="ana")
        first_conversation(client, memory)
        second_conversation(client, memory)
        print("Shown:   ", memory.digest(ASKED).items[0].line)


if __name__ == "__main__":
    main()
