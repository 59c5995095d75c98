package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.FatTreePlan;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Measures the delays of copies: the time from when a switch sends a packet until the collector
 * receives the copy that this switch made. Only TCP packets to port 9000 whose IP identification
 * ends in five zero bits are measured.
 */
final class CopyDelays implements AutoCloseable {
  /** Captures on the switches' ports and, in another namespace, on the collector's taps. */
  private static final String CAPTURE =
      """
      import collections, ctypes, json, os, select, signal, socket, statistics, struct, sys
      space = sys.argv[1]
      ports = dict(pair.split("=") for pair in sys.argv[2].split(","))  # SWITCH:PORT by device
      taps = dict(pair.split("=") for pair in sys.argv[3].split(","))  # SWITCH by device
      code = [(0x28, 0, 0, 12), (0x15, 0, 7, 0x800), (0x30, 0, 0, 23), (0x15, 0, 5, 6), (0x28, 0, 0, 18),
              (0x45, 3, 0, 0x1f), (0x28, 0, 0, 36), (0x15, 0, 1, 9000), (6, 0, 0, 96), (6, 0, 0, 0)]
      memory = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
      def capture():
          tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
          tap.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", len(code), ctypes.addressof(memory)))  # SO_ATTACH_FILTER
          tap.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
          tap.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
          tap.setblocking(False)
          try:
              while tap.recv(1):  # captured before the filter
                  pass
          except BlockingIOError:
              return tap
      libc = ctypes.CDLL(None, use_errno=True)
      here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open("/run/netns/" + space, os.O_RDONLY)
      def enter(namespace):
          if libc.setns(namespace, 0):
              sys.exit("can't enter a network namespace: " + os.strerror(ctypes.get_errno()))
      leaving = capture()
      enter(there)
      copies = capture()
      enter(here)
      sent, delays = {}, collections.defaultdict(list)
      early = {}
      def read(link):
          frame, ancillary, _, address = link.recvmsg(128, 64)
          seconds, ns = struct.unpack("qq", ancillary[0][2][:16])
          return frame[34:36] + frame[38:42], seconds * 1_000_000_000 + ns, address
      def join(key, copied_ns, port, sent_ns):
          delays[port].append((copied_ns - sent_ns) / 1e6)
      done = []
      signal.signal(signal.SIGTERM, lambda *_: done.append(True))
      print("ready", flush=True)
      while not done:
          for link in select.select([leaving, copies], [], [], 0.2)[0]:
              packet, time_ns, address = read(link)
              if link is leaving:
                  port = ports.get(address[0])
                  if port is None or address[2] != socket.PACKET_OUTGOING:
                      continue
                  key = (port.split(":")[0], packet)
                  if key in early:
                      join(key, early.pop(key), port, time_ns)
                  else:
                      sent[key] = (port, time_ns)
              elif address[0] in taps:
                  key = (taps[address[0]], packet)
                  if key in sent:
                      join(key, time_ns, *sent.pop(key))
                  else:
                      early[key] = time_ns
      print(json.dumps({port: {"copies": len(all), "median_ms": statistics.median(all),
                               "p99_ms": sorted(all)[len(all) * 99 // 100]} for port, all in delays.items()}))
      """;

  private final Cli.Running capture;

  private CopyDelays(FatTreePlan plan) {
    List<String> ports = new ArrayList<>();
    List<String> taps = new ArrayList<>();
    for (FatTreePlan.Switch sw : plan.switches()) {
      for (int port = 1; port <= plan.k(); port++) {
        ports.add(sw.ports().get(port - 1) + "=" + sw.id() + ":" + port);
      }
      String bridge = sw.bridge();
      taps.add(bridge.substring(bridge.indexOf('-') + 1) + "=" + sw.id());
    }
    capture =
        Cli.startCommand(
            Map.of(),
            List.of(
                "python3",
                "-c",
                CAPTURE,
                plan.name() + "-collector",
                String.join(",", ports),
                String.join(",", taps)));
  }

  static CopyDelays capture(FatTreePlan plan) throws Exception {
    CopyDelays delays = new CopyDelays(plan);
    Fabric.await(
        "the capture runs",
        () -> {
          assertThat(delays.capture.process().isAlive())
              .as("capture; stderr: %s", delays.capture.stderr())
              .isTrue();
          return Files.readString(delays.capture.out()).startsWith("ready");
        });
    return delays;
  }

  /** Ends the capture; returns copies, median_ms and p99_ms by port (such as edge-0-0:3). */
  JsonNode finish() {
    capture.process().destroy();
    String[] lines = capture.await(60).expectSuccess().stdout().strip().split("\n");
    return Cli.parse(lines[lines.length - 1]);
  }

  @Override
  public void close() {
    capture.close();
  }
}
