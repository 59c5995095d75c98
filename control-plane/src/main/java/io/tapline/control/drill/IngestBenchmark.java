package io.tapline.control.drill;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measures how much snapshots slow down a node that ingests as fast as it can. Rounds without
 * snapshots alternate with rounds of periodic snapshots, over several nodes of this host. The first
 * node reads packets endlessly on a dedicated core.
 */
public final class IngestBenchmark implements AutoCloseable {
  private static final Duration ROUND = Duration.ofMillis(500);
  private static final int FRAMES = 256;
  private static final int FRAME_BYTES = 64;

  /** Maximum share of a core that a thread uses if it processes no packets. */
  private static final double MAX_IDLE = 0.05;

  private final NodeProcesses nodes;
  private final Process writer;
  private final DrillService all;
  private final DrillService first;

  /** Starts the nodes, waits for their packets, and moves this process off the writer's core. */
  public IngestBenchmark(Path program, Path capture, int count)
      throws IOException, InterruptedException {
    nodes = new NodeProcesses(program);
    Path packets = nodes.folder().resolve("packets.pcap");
    Files.write(packets, packets());
    new ProcessBuilder("taskset", "-acp", "1", Long.toString(ProcessHandle.current().pid()))
        .start()
        .waitFor();
    String device = "net_pcap0,rx_pcap=" + packets + ",infinite_rx=1";
    writer = nodes.start(List.of("taskset", "-c", "0"), "--vdev", device, "--hugepages", "never");
    for (int i = 1; i < count; i++) {
      nodes.start(List.of("taskset", "-c", "1"), "--pcap", capture.toString());
    }
    all = new DrillService(nodes.addresses());
    first = new DrillService(nodes.addresses().subList(0, 1));
    nodes.awaitRows(all);
    pinTheRest();
  }

  /** Moves all threads of the writer off its core, except those that ingest packets. */
  private void pinTheRest() throws IOException, InterruptedException {
    Path threads = Path.of("/proc", Long.toString(writer.pid()), "task");
    Map<String, Double> previousCpuOfThreads = cpuOfThreads(threads);
    Thread.sleep(ROUND.toMillis());
    Map<String, Double> laterCpuOfThreads = cpuOfThreads(threads);
    for (Map.Entry<String, Double> thread : laterCpuOfThreads.entrySet()) {
      double used = thread.getValue() - previousCpuOfThreads.getOrDefault(thread.getKey(), 0.0);
      if (used < MAX_IDLE * ROUND.toMillis() / 1e3) {
        new ProcessBuilder("taskset", "-cp", "1", thread.getKey()).start().waitFor();
      }
    }
  }

  private static Map<String, Double> cpuOfThreads(Path threads) throws IOException {
    Map<String, Double> cpu = new HashMap<>();
    try (Stream<Path> all = Files.list(threads)) {
      for (Path thread : all.toList()) {
        cpu.put(thread.getFileName().toString(), NodeProcesses.cpuSeconds(thread));
      }
    }
    return cpu;
  }

  /**
   * The results of one round without and one with snapshots.
   *
   * @param without rows per second of elapsed time, without snapshots
   * @param with rows per second of elapsed time, with snapshots
   * @param perCpuWithout rows per second of the writer's CPU time, which other programs do not
   *     affect, without snapshots
   * @param perCpuWith rows per second of the writer's CPU time, with snapshots
   * @param snapshots number of snapshots in the round with snapshots
   */
  public record Round(
      double without, double with, double perCpuWithout, double perCpuWith, int snapshots) {}

  /** Runs this number of pairs of rounds, the second of each with snapshots at this interval. */
  public List<Round> measure(int rounds, Duration every)
      throws DrillException, IOException, InterruptedException {
    List<Round> measuredRounds = new ArrayList<>();
    round(every, true);
    for (int i = 0; i < rounds; i++) {
      Rate without = round(every, false);
      Rate withLoad = round(every, true);
      measuredRounds.add(
          new Round(
              without.perSecond,
              withLoad.perSecond,
              without.perCpu,
              withLoad.perCpu,
              withLoad.snapshots));
    }
    return measuredRounds;
  }

  private record Rate(double perSecond, double perCpu, int snapshots) {}

  private Rate round(Duration every, boolean snapshots)
      throws DrillException, IOException, InterruptedException {
    DrillRequest nothing = new DrillRequest("", 0, 0, 1, List.of());
    String pid = Long.toString(writer.pid());
    double cpu = NodeProcesses.cpuSeconds(Path.of("/proc", pid));
    long rows = NodeProcesses.rows(first.states().get(0));
    long begin = System.nanoTime();
    int taken = 0;
    for (long next = begin; next < begin + ROUND.toNanos(); next += every.toNanos()) {
      if (snapshots) {
        all.snapshotOf(nothing);
        taken++;
      }
      Thread.sleep(Math.max(0, (next + every.toNanos() - System.nanoTime()) / 1_000_000));
    }
    double seconds = (System.nanoTime() - begin) / 1e9;
    long furtherRows = NodeProcesses.rows(first.states().get(0)) - rows;
    return new Rate(
        furtherRows / seconds,
        furtherRows / (NodeProcesses.cpuSeconds(Path.of("/proc", pid)) - cpu),
        taken);
  }

  /** Returns a capture of TCP segments from many flows. */
  private static byte[] packets() {
    ByteBuffer file =
        ByteBuffer.allocate(24 + FRAMES * (16 + FRAME_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    file.putInt(0xa1b2c3d4).putShort((short) 2).putShort((short) 4).putLong(0);
    file.putInt(65_535).putInt(1);
    for (int i = 0; i < FRAMES; i++) {
      file.putInt(1).putInt(i).putInt(FRAME_BYTES).putInt(FRAME_BYTES);
      ByteBuffer frame = ByteBuffer.allocate(FRAME_BYTES);
      frame.position(12);
      frame.putShort((short) 0x0800).put((byte) 0x45).put((byte) 0);
      frame.putShort((short) (FRAME_BYTES - 14)).putInt(i << 16).put((byte) 64).put((byte) 6);
      frame.putShort((short) 0).putInt(0x0a000001 + i).putInt(0x0a010001);
      frame.putShort((short) (1024 + i)).putShort((short) 80).putLong(0);
      frame.putShort((short) 0x5010);
      file.put(frame.array());
    }
    return file.array();
  }

  @Override
  public void close() {
    all.close();
    first.close();
    nodes.close();
  }
}
