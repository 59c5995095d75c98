package io.tapline.flink.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Resource usage of a deployment's servers: memory, threads, classes, topics, keys and files. */
public final class Usage {
  private static final String METASPACE = "Status.JVM.Memory.Metaspace.Used";
  private static final String THREADS = "Status.JVM.Threads.Count";
  private static final String LOADED = "Status.JVM.ClassLoader.ClassesLoaded";
  private static final String UNLOADED = "Status.JVM.ClassLoader.ClassesUnloaded";
  private static final List<String> FIGURES = List.of(METASPACE, THREADS, LOADED, UNLOADED);

  private Usage() {}

  /** Collects Flink's garbage. Then returns usage figures by name; sizes are in KiB. */
  public static Map<String, Long> of(Deployment deployment, Path directory) throws Exception {
    Map<String, Long> usage = new LinkedHashMap<>();
    deployment.cluster.collectGarbage();
    FlinkRest rest = deployment.cluster.rest();
    add(usage, "jm", rest, "/jobmanager/metrics");
    String taskManager = rest.get("/taskmanagers").at("/taskmanagers/0/id").asText();
    add(usage, "tm", rest, "/taskmanagers/" + taskManager + "/metrics");
    usage.put("topics", (long) deployment.broker.client().topics().size());
    usage.put("keys", (long) deployment.redis.keys("*").size());
    usage.put("ha_files", files(directory.resolve("ha")));
    usage.put("flink_files", files(directory.resolve("flink")));
    usage.put("checkpoint_files", files(directory.resolve("checkpoints")));
    usage.put("kafka_files", files(directory.resolve("kafka")));
    return usage;
  }

  private static void add(Map<String, Long> usage, String who, FlinkRest rest, String path)
      throws Exception {
    Map<String, Long> values = new LinkedHashMap<>();
    // If a process does not respond, Flink omits its metrics until it asks again after ten seconds.
    Deadline.await(
        "figures of the " + who,
        () -> {
          rest.get(path + "?get=" + String.join(",", FIGURES))
              .forEach(m -> values.put(m.path("id").asText(), m.path("value").asLong()));
          return values.keySet().containsAll(FIGURES);
        });
    usage.put(who + "_metaspace_kib", values.get(METASPACE) / 1024);
    usage.put(who + "_threads", values.get(THREADS));
    usage.put(who + "_classes", values.get(LOADED) - values.get(UNLOADED));
  }

  private static long files(Path directory) {
    try (Stream<Path> all = Files.walk(directory)) {
      return all.count();
    } catch (IOException | UncheckedIOException vanished) {
      return Files.exists(directory) ? files(directory) : 0;
    }
  }

  /** Formats the latest sample, after a header line if it is the first sample. */
  public static String line(int queries, List<Map<String, Long>> samples) {
    Map<String, Long> last = samples.get(samples.size() - 1);
    String row = last.values().stream().map("%16d"::formatted).collect(Collectors.joining());
    String header = last.keySet().stream().map("%16s"::formatted).collect(Collectors.joining());
    return (samples.size() == 1 ? " queries" + header + "\n" : "") + "%8d".formatted(queries) + row;
  }

  /**
   * Returns the figures whose minimum in the last fifth of the samples exceeds their minimum in the
   * second fifth by more than a tenth plus 2. Single samples are unreliable: Flink's thread counts
   * are up to ten seconds old, and a job may have been running then.
   */
  public static List<String> grown(List<Map<String, Long>> samples) {
    int fifth = samples.size() / 5;
    return samples.get(0).keySet().stream()
        .filter(
            name ->
                min(samples.subList(samples.size() - fifth, samples.size()), name)
                    > 1.1 * min(samples.subList(fifth, 2 * fifth), name) + 2)
        .toList();
  }

  private static long min(List<Map<String, Long>> samples, String name) {
    return samples.stream().mapToLong(sample -> sample.get(name)).min().orElseThrow();
  }
}
