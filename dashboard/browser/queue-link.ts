/** Two virtual links that carry the packets before and after a simulated queue, and their sender. */
import { run } from "./programs";

/**
 * Sends bursts of two flows into the first interface, each followed by a packet of a third flow, and then the same
 * packets into the second interface, one per millisecond, as a queue would.
 */
const SEND = `
import math, socket, struct, sys, time
def opened(device):
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    one.bind((device, 0))
    return one
arrivals, departures = opened(sys.argv[1]), opened(sys.argv[2])
number = 0
def datagram(port, size):
    global number
    number += 1
    udp = struct.pack("!HHHH", port, 7000, 8 + size, 0) + bytes(size)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + size, number, 0, 64, 17, 0, bytes([10, 99, 1, 2]), bytes([10, 99, 2, 2]))
    return bytes(12) + b"\\x08\\x00" + ip + udp
begin = time.monotonic()
for turn in range(30):
    time.sleep(max(0, begin + turn * 0.1 - time.monotonic()))
    if turn in (9, 10): continue
    first, second = 12 + int(10 * math.sin(turn / 4)), 10 + int(9 * math.sin(turn / 3 + 2))
    burst = [datagram(40001, 1200) for _ in range(first)] + [datagram(40002, 1200) for _ in range(second)] + [datagram(40003, 60)]
    for each in burst: arrivals.send(each)
    for each in burst:
        time.sleep(0.001)
        departures.send(each)
`;

export class QueueLink {
  private readonly name = `tq${process.pid}`;

  /** Interfaces on which a monitor sees the packets before and after the queue. */
  get arrivals(): string {
    return `${this.name}a0`;
  }

  get departures(): string {
    return `${this.name}d0`;
  }

  open(): void {
    for (const side of ["a", "d"]) {
      run("ip", "link", "add", `${this.name}${side}0`, "type", "veth", "peer", "name", `${this.name}${side}1`);
      for (const end of ["0", "1"]) run("ip", "link", "set", `${this.name}${side}${end}`, "up");
    }
  }

  /** Sends for three seconds. */
  send(): void {
    run("python3", "-c", SEND, `${this.name}a1`, `${this.name}d1`);
  }

  close(): void {
    for (const side of ["a", "d"]) {
      try {
        run("ip", "link", "del", `${this.name}${side}0`);
      } catch {
        // The link was never created.
      }
    }
  }
}
