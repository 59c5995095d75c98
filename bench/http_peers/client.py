#!/usr/bin/env python3
"""client.py ADDRESS PORT REQUESTS: requests REQUESTS pages, each once, over CONNECTIONS concurrent keep-alive connections. Page sizes
are log-normally distributed with a mean of 5 kB; a connection ends after 5 to 200 requests. The URLs are the same in every run."""
import asyncio
import random
import sys

CONNECTIONS = 16
MAX_BYTES = 24_000


def pages(count):
    """Yields the URL of each page, which contains its size and number."""
    chance = random.Random(1)
    for number in range(count):
        yield f"/{min(MAX_BYTES, int(chance.lognormvariate(8.1, 0.9)) + 1)}/page{number:07}"


async def read_answer(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))


async def fetch(address, port, urls, chance):
    """Requests URLs from the shared iterator until it is exhausted."""
    url = next(urls, None)
    while url is not None:
        reader, writer = await asyncio.open_connection(address, port)
        for _ in range(chance.randint(5, 200)):
            writer.write(f"GET {url} HTTP/1.1\r\nHost: shop.test\r\nUser-Agent: client\r\nAccept: */*\r\n\r\n".encode())
            await read_answer(reader)
            if (url := next(urls, None)) is None:
                break
        writer.close()
        await writer.wait_closed()


async def main():
    address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    urls, chance = pages(count), random.Random(2)
    await asyncio.gather(*(fetch(address, port, urls, chance) for _ in range(CONNECTIONS)))


asyncio.run(main())
