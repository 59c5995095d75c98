package io.tapline.e2e;

import io.tapline.control.testbed.FatTreePlan;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sends datagrams at a constant rate from several hosts of a testbed, each to a random one of the
 * given Ethernet addresses, until {@link #finish} is called. Each datagram is a separate flow: its
 * source address is the byte 11, followed by the three bytes of its number.
 */
final class NumberedDatagrams implements AutoCloseable {
  private static final String SEND =
      """
      import os, random, socket, struct, sys, time
      file, seed, senders, at_least, rate = sys.argv[1], *map(int, sys.argv[2:6])
      targets = [bytes.fromhex(text.replace(":", "")) for text in sys.argv[6].split(",")]
      link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
      link.bind(("eth0", 0))
      source = link.getsockname()[4]
      choices = random.Random(seed)
      sent = 0
      begin = time.monotonic()
      with open(file, "wb", 1 << 20) as log:
          while sent < at_least or not os.path.exists(file + ".end"):
              due = int((time.monotonic() - begin) * rate)
              while sent < due:
                  number, target = sent * senders + seed, choices.randrange(len(targets))
                  ip = struct.pack(">BBHHHBBHI4s", 0x45, 0, 38, 0, 0, 64, 17, 0, 11 << 24 | number, bytes([10, 200, 0, target]))
                  log.write(struct.pack("<IHQ", number, target, time.time_ns()))
                  link.send(targets[target] + source + b"\\x08\\0" + ip + struct.pack(">HHHH", 40000, 9, 18, 0) + bytes(10))
                  sent += 1
              time.sleep(0.002)
      """;

  private static final int RECORD_BYTES = 14;

  /** A datagram: its destination's index in the targets, and the time at which it was sent. */
  record Datagram(int target, long sentNs) {}

  private final int seconds;
  private final List<Path> files = new ArrayList<>();
  private final List<Cli.Running> senders = new ArrayList<>();

  /**
   * Starts senders.
   *
   * @param targets Ethernet addresses of the destinations
   * @param count minimum number of datagrams, over all senders
   * @param perSecond number of datagrams per second, over all senders
   */
  NumberedDatagrams(
      Fabric fabric,
      Path folder,
      List<String> hosts,
      List<String> targets,
      int count,
      int perSecond) {
    seconds = count / perSecond;
    for (int sender = 0; sender < hosts.size(); sender++) {
      Path file = folder.resolve("sent-" + sender);
      files.add(file);
      senders.add(
          fabric.start(
              hosts.get(sender),
              "python3",
              "-c",
              SEND,
              file.toString(),
              "" + sender,
              "" + hosts.size(),
              "" + count / hosts.size(),
              "" + perSecond / hosts.size(),
              String.join(",", targets)));
    }
  }

  /** Returns the Ethernet addresses of a testbed's hosts. */
  static List<String> hosts(FatTreePlan plan) {
    return plan.hosts().stream().map(FatTreePlan.Node::mac).toList();
  }

  boolean areSent() {
    return senders.stream().allMatch(sender -> sender.process().isAlive());
  }

  /** Stops the senders, waits for them, and returns the datagrams by number. */
  Map<Integer, Datagram> finish() throws IOException {
    for (Path file : files) {
      Files.createFile(Path.of(file + ".end"));
    }
    Map<Integer, Datagram> all = new HashMap<>();
    for (int sender = 0; sender < senders.size(); sender++) {
      senders.get(sender).await(seconds + 60).expectSuccess();
      ByteBuffer records =
          ByteBuffer.wrap(Files.readAllBytes(files.get(sender))).order(ByteOrder.LITTLE_ENDIAN);
      while (records.remaining() >= RECORD_BYTES) {
        all.put(
            records.getInt(),
            new Datagram(Short.toUnsignedInt(records.getShort()), records.getLong()));
      }
    }
    return all;
  }

  @Override
  public void close() {
    senders.forEach(Cli.Running::close);
  }
}
