"""Work for processes that are killed while they write."""

from racing import Writer, open_store


def writing_to(database, name):
    def work(say):
        writer = Writer(open_store(database), name)
        while True:
            writer.write()
            say(writer.acknowledged[-1])

    return work
