package io.tapline.sdn.simulation;

import io.tapline.network.IpPrefix;
import io.tapline.network.rules.PortMask;
import io.tapline.network.rules.RuleMatch;
import io.tapline.network.rules.RuleTable;
import io.tapline.network.rules.Wanted;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.mirror.MirrorPort;
import io.tapline.sdn.mirror.MirrorState;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;

/**
 * Measures how fast a controller installs and reconciles rules on many simulated switches, compared
 * with a bare loop that writes the same bytes to as many switches. All switches get the same table.
 * Each of its rules matches TCP from any address to port 80 of one address.
 */
public final class ControllerBenchmark {
  private static final long MAX_NS = 300_000_000_000L;
  private static final int BASE_FLOWS = 3;
  private static final long HOUR_NS = 3_600_000_000_000L;
  private static final String CONTROLLER_THREAD = "openflow";

  /**
   * A phase.
   *
   * @param rules number of rules; in the first phase, of the flows that every switch gets
   * @param messages number of flow changes that switches received
   * @param cpuSeconds CPU time of the single thread that decides and writes
   */
  public record Row(String phase, long rules, long messages, double seconds, double cpuSeconds) {
    public double perSecond() {
      return rules / seconds;
    }

    public double perCpuSecond() {
      return rules / cpuSeconds;
    }
  }

  private final int switches;
  private final int rules;
  private final MirrorState wanted;
  private final NetworkMap map;
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

  /**
   * Creates a benchmark.
   *
   * @param rules number of rules per switch
   */
  public ControllerBenchmark(int switches, int rules) {
    this.switches = switches;
    this.rules = rules;
    RuleTable table = table(rules);
    Map<String, Long> datapaths = new HashMap<>();
    Map<String, RuleTable> tables = new HashMap<>();
    Map<String, Map<String, MirrorPort>> ports = new HashMap<>();
    for (int i = 0; i < switches; i++) {
      datapaths.put("s" + i, 1L + i);
      tables.put("s" + i, table);
      ports.put("s" + i, Map.of("host", MirrorPort.direct(2)));
    }
    this.wanted = new MirrorState(tables, Map.of("monitor-0", "host"));
    this.map = new NetworkMap(datapaths, Map.of(), Map.of(), ports);
  }

  /** Returns rules for addresses that can't be merged into prefixes. */
  private static RuleTable table(int rules) {
    List<Wanted> wants = new ArrayList<>();
    for (int i = 0; i < rules; i++) {
      IpPrefix destination = new IpPrefix(4, (0x0a00_0000L + 2L * i) << 32, 0, 32);
      RuleMatch match =
          new RuleMatch(IpPrefix.ANY, destination, 6, PortMask.ANY, PortMask.of(80), 0, 0);
      wants.add(new Wanted("q", "monitor-0", match, false));
    }
    return RuleTable.of(wants, rules);
  }

  private ControllerOptions options(int port) {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    return ControllerOptions.of(address, map).withTimes(1_000_000_000L, HOUR_NS, HOUR_NS);
  }

  /** Runs all phases. */
  public List<Row> run(Consumer<String> progress) throws IOException {
    List<Row> rows = new ArrayList<>();
    long total = (long) switches * (rules + BASE_FLOWS);
    Controller controller = Controller.start(options(0));
    int port = controller.port();
    try (SimulatedSwitches simulated = simulated(port)) {
      progress.accept("connecting %,d switches".formatted(switches));
      rows.add(
          measured(
              "connect, first rules",
              (long) switches * BASE_FLOWS,
              simulated,
              simulated::connect,
              () -> simulated.flows() == (long) switches * BASE_FLOWS));
      progress.accept("installing %,d rules".formatted((long) switches * rules));
      simulated.record();
      Controller first = controller;
      rows.add(
          measured(
              "install",
              (long) switches * rules,
              simulated,
              () -> first.mirror(wanted),
              () -> simulated.flows() == total && first.report().complete()));
      progress.accept("a new controller finds them");
      controller.close();
      controller = Controller.start(options(port));
      Controller second = controller;
      second.mirror(wanted);
      rows.add(
          measured(
              "reconcile, nothing wrong",
              (long) switches * rules,
              simulated,
              simulated::connect,
              () -> second.report().complete()));
      progress.accept("the same bytes from a bare loop");
      rows.add(bare(simulated));
      return rows;
    } finally {
      controller.close();
    }
  }

  private SimulatedSwitches simulated(int port) throws IOException {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    return new SimulatedSwitches(address, switches, 2, 1);
  }

  private Row measured(
      String phase,
      long about,
      SimulatedSwitches simulated,
      Runnable begin,
      Callable<Boolean> done) {
    long mods = simulated.flowMods();
    long cpuNs = controllerCpuNs();
    long startNs = System.nanoTime();
    begin.run();
    await(done);
    double seconds = (System.nanoTime() - startNs) / 1e9;
    double cpuSeconds = (controllerCpuNs() - cpuNs) / 1e9;
    return new Row(phase, about, simulated.flowMods() - mods, seconds, cpuSeconds);
  }

  private long controllerCpuNs() {
    long cpuNs = 0;
    for (long id : threads.getAllThreadIds()) {
      var info = threads.getThreadInfo(id);
      if (info != null && info.getThreadName().startsWith(CONTROLLER_THREAD)) {
        cpuNs += Math.max(0, threads.getThreadCpuTime(id));
      }
    }
    return cpuNs;
  }

  private static void await(Callable<Boolean> done) {
    long endNs = System.nanoTime() + MAX_NS;
    try {
      while (!done.call()) {
        if (System.nanoTime() > endNs) {
          throw new IllegalStateException("the phase did not end within five minutes");
        }
        Thread.sleep(5);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Writes the recorded bytes to fresh switches, with one write per switch. */
  private Row bare(SimulatedSwitches recorded) throws IOException {
    List<ByteBuffer> bytes = new ArrayList<>();
    for (int i = 0; i < switches; i++) {
      bytes.add(ByteBuffer.wrap(recorded.recorded(i)));
    }
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (ServerSocketChannel server = ServerSocketChannel.open().bind(any, switches);
        SimulatedSwitches newSwitches =
            simulated(((InetSocketAddress) server.getLocalAddress()).getPort())) {
      newSwitches.connect();
      List<SocketChannel> channels = new ArrayList<>();
      for (int i = 0; i < switches; i++) {
        channels.add(server.accept());
      }
      long cpuNs = threads.getCurrentThreadCpuTime();
      long startNs = System.nanoTime();
      for (int i = 0; i < switches; i++) {
        while (bytes.get(i).hasRemaining()) {
          channels.get(i).write(bytes.get(i));
        }
      }
      double cpuSeconds = (threads.getCurrentThreadCpuTime() - cpuNs) / 1e9;
      await(() -> newSwitches.flowMods() == (long) switches * rules);
      double seconds = (System.nanoTime() - startNs) / 1e9;
      for (SocketChannel channel : channels) {
        channel.close();
      }
      return new Row(
          "bare loop", (long) switches * rules, newSwitches.flowMods(), seconds, cpuSeconds);
    }
  }
}
