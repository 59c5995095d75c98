package io.tapline.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.testbed.FatTreePlan;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The switch ports that sent numbered datagrams, captured on the ports' network devices. */
final class ForwardedPackets {
  /**
   * Captures the IPv4 packets that devices send, until one second after SIGTERM. Writes the number
   * and the device of each numbered datagram to a file; prints the number of packets by device, and
   * the number of packets that the capture missed.
   */
  private static final String CAPTURE =
      """
      import collections, ctypes, json, signal, socket, struct, sys, time
      file, devices = open(sys.argv[1], "wb", 1 << 20), {name: i for i, name in enumerate(sys.argv[2].split(","))}
      # IPv4 packets that leave: ethertype and the packet's type.
      code = [(0x28, 0, 0, 12), (0x15, 0, 3, 0x800), (0x20, 0, 0, 0xfffff004), (0x15, 0, 1, 4), (6, 0, 0, 64), (6, 0, 0, 0)]
      program = b"".join(struct.pack("HBBI", *line) for line in code)
      memory = ctypes.create_string_buffer(program)
      tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
      tap.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", len(code), ctypes.addressof(memory)))  # SO_ATTACH_FILTER
      tap.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
      tap.setblocking(False)
      try:
          while tap.recv(1):  # captured before the filter
              pass
      except BlockingIOError:
          tap.settimeout(0.5)
      done = []
      signal.signal(signal.SIGTERM, lambda *_: done.append(time.monotonic()))
      print("ready", flush=True)
      packets = collections.Counter()
      frame = bytearray(64)
      while not done or time.monotonic() < done[0] + 1:
          try:
              address = tap.recvfrom_into(frame)[1]
          except TimeoutError:
              continue
          device = devices.get(address[0])
          if device is None:
              continue
          packets[device] += 1
          if frame[23] == 17 and frame[26] == 11 and frame[36:38] == b"\\0\\x09":
              file.write(struct.pack("<IH", int.from_bytes(frame[27:30], "big"), device))
      file.close()
      missed = struct.unpack("II", tap.getsockopt(263, 6, 8))[1]  # PACKET_STATISTICS
      print(json.dumps({"packets": packets, "missed": missed}))
      """;

  private static final int RECORD_BYTES = 6;

  /** The devices' ports, such as {@code edge-0-0:3}. */
  private final List<String> ports = new ArrayList<>();

  private final Map<String, Integer> codes = new HashMap<>();
  private final Path file;
  private final Cli.Running capture;

  /** For each port, the numbers of the datagrams that it sent. */
  private final List<BitSet> sent = new ArrayList<>();

  private final Map<String, Long> packets = new HashMap<>();
  private long missed;

  private ForwardedPackets(FatTreePlan plan, Path file) {
    this.file = file;
    List<String> devices = new ArrayList<>();
    for (FatTreePlan.Switch sw : plan.switches()) {
      for (int port = 1; port <= plan.k(); port++) {
        codes.put(sw.id() + ":" + port, ports.size());
        ports.add(sw.id() + ":" + port);
        devices.add(sw.ports().get(port - 1));
        sent.add(new BitSet());
      }
    }
    capture =
        Cli.startCommand(
            Map.of(),
            List.of("python3", "-c", CAPTURE, file.toString(), String.join(",", devices)));
  }

  /** Starts a capture that writes to a file. */
  static ForwardedPackets capture(FatTreePlan plan, Path file) throws Exception {
    ForwardedPackets forwarded = new ForwardedPackets(plan, file);
    Fabric.await(
        "the capture runs",
        () -> {
          assertThat(forwarded.capture.process().isAlive())
              .as("capture; stderr: %s", forwarded.capture.stderr())
              .isTrue();
          return Files.readString(forwarded.capture.out()).startsWith("ready");
        });
    return forwarded;
  }

  /** Ends the capture. */
  void finish() throws IOException {
    capture.process().destroy();
    String[] lines = capture.await(60).expectSuccess().stdout().strip().split("\n");
    capture.close();
    JsonNode report = Cli.parse(lines[lines.length - 1]);
    missed = report.path("missed").asLong();
    for (Map.Entry<String, JsonNode> port : report.path("packets").properties()) {
      packets.put(ports.get(Integer.parseInt(port.getKey())), port.getValue().asLong());
    }
    ByteBuffer records = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    while (records.remaining() >= RECORD_BYTES) {
      int number = records.getInt();
      sent.get(Short.toUnsignedInt(records.getShort())).set(number);
    }
  }

  /** Returns the number of packets that the capture missed. */
  long missed() {
    return missed;
  }

  /** Returns the number of IPv4 packets that a port sent. */
  long packets(String port) {
    return packets.getOrDefault(port, 0L);
  }

  /** Returns true if a port, such as {@code edge-0-0:3}, sent a datagram. */
  boolean hasSent(String port, int number) {
    Integer code = codes.get(port);
    return code != null && sent.get(code).get(number);
  }

  /** Returns a switch's ports that sent a datagram. */
  List<String> portsOf(String switchName, int number) {
    return ports.stream()
        .filter(port -> port.startsWith(switchName + ":") && hasSent(port, number))
        .toList();
  }
}
