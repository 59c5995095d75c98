package io.tapline.bench.events;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Sends datagrams with the code point of expedited forwarding over a virtual link, to a network
 * namespace in which no program answers. Needs root.
 */
final class MarkedLink implements AutoCloseable {
  static final int CODE_POINT = 46;

  /** An address in the range reserved for benchmarks (RFC 2544), which no host uses. */
  private static final String NEAR = "198.18.255.1";

  private static final String FAR = "198.18.255.2";

  /** Routed through the far end, which drops packets for other hosts without an answer. */
  private static final String NOWHERE = "198.18.255.5";

  private static final int PAYLOAD_BYTES = 64;
  private static final long PAUSE_NS = 100_000;
  private static final int FLOWS = 16;

  private final String name = "tlb" + ProcessHandle.current().pid() % 10_000_000;

  private MarkedLink() {}

  static MarkedLink open() throws IOException, InterruptedException {
    MarkedLink link = new MarkedLink();
    try {
      run("ip netns add " + link.name);
      run(
          "ip link add %s type veth peer name far netns %s"
              .formatted(link.networkInterface(), link.name));
      run("ip addr add " + NEAR + "/30 dev " + link.networkInterface());
      run("ip link set " + link.networkInterface() + " up");
      run("ip -n " + link.name + " addr add " + FAR + "/30 dev far");
      run("ip -n " + link.name + " link set far up");
      run("ip route add " + NOWHERE + " via " + FAR);
      return link;
    } catch (IOException e) {
      link.close();
      throw e;
    }
  }

  String networkInterface() {
    return name + "a";
  }

  /**
   * Sends datagrams at an even rate.
   *
   * @return number sent
   */
  long send(int perSecond, long seconds) throws IOException {
    List<DatagramChannel> flows = new ArrayList<>();
    try {
      for (int i = 0; i < FLOWS; i++) {
        DatagramChannel flow = DatagramChannel.open();
        flows.add(flow);
        flow.setOption(StandardSocketOptions.IP_TOS, CODE_POINT << 2);
        flow.connect(new InetSocketAddress(NOWHERE, 9));
      }
      return send(flows, perSecond, seconds);
    } finally {
      for (DatagramChannel flow : flows) {
        flow.close();
      }
    }
  }

  private static long send(List<DatagramChannel> flows, int perSecond, long seconds)
      throws IOException {
    ByteBuffer payload = ByteBuffer.allocateDirect(PAYLOAD_BYTES);
    long all = perSecond * seconds;
    long begin = System.nanoTime();
    long end = begin + TimeUnit.SECONDS.toNanos(seconds);
    long sent = 0;
    while (sent < all && System.nanoTime() < end) {
      long due = Math.min(all, (long) ((System.nanoTime() - begin) / 1e9 * perSecond));
      for (; sent < due; sent++) {
        payload.clear();
        flows.get((int) (sent % flows.size())).write(payload);
      }
      LockSupport.parkNanos(PAUSE_NS);
    }
    return sent;
  }

  private static void run(String command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command.split(" ")).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes());
    if (process.waitFor() != 0) {
      throw new IOException(command + ": " + said.strip());
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    run("ip netns del " + name);
  }
}
