package io.tapline.e2e;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A Flink session cluster as an operator would run it: a job manager and a task manager whose class
 * path has all dependencies of the job, but none of Tapline's own classes (except in {@link
 * #ofVersion}).
 */
final class FlinkCluster implements AutoCloseable {
  private static final long TIMEOUT_S = 120;

  private final Path folder;
  private final String classPath;
  private final int restPort = Server.freePort();
  private final List<String> settings;
  private final List<Process> processes = new ArrayList<>();

  FlinkCluster(Path folder) throws IOException, InterruptedException {
    this(folder, "task-manager");
  }

  /**
   * Starts a cluster from the checkout of an earlier version. Its class path has all of Tapline's
   * classes, except those of the job.
   */
  static FlinkCluster ofVersion(Path root, Path folder) throws IOException, InterruptedException {
    return new FlinkCluster(folder, "task-manager", classPath(root, "flink-jobs-.*"));
  }

  /**
   * Starts a cluster whose task manager reports that it runs on a host of the network.
   *
   * @param host name of the host, used as {@code taskmanager.resource-id}
   */
  FlinkCluster(Path folder, String host) throws IOException, InterruptedException {
    this(folder, host, classPath(Cli.root(), ".*-SNAPSHOT.jar"));
  }

  private FlinkCluster(Path folder, String host, String classPath)
      throws IOException, InterruptedException {
    this.folder = folder;
    this.classPath = classPath;
    this.settings =
        List.of(
            "-Djobmanager.rpc.address=127.0.0.1",
            "-Djobmanager.rpc.port=" + Server.freePort(),
            "-Drest.address=127.0.0.1",
            "-Drest.port=" + restPort,
            "-Dio.tmp.dirs=" + folder);
    Files.writeString(folder.resolve("config.yaml"), "parallelism.default: 1\n");
    start("org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", List.of());
    start(
        "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
        List.of(
            "-Dtaskmanager.host=127.0.0.1",
            "-Dtaskmanager.resource-id=" + host,
            "-Dtaskmanager.numberOfTaskSlots=2",
            "-Dtaskmanager.cpu.cores=1",
            "-Dtaskmanager.memory.framework.heap.size=128m",
            "-Dtaskmanager.memory.task.heap.size=256m",
            "-Dtaskmanager.memory.framework.off-heap.size=128m",
            "-Dtaskmanager.memory.task.off-heap.size=0b",
            "-Dtaskmanager.memory.managed.size=0b",
            "-Dtaskmanager.memory.network.min=64m",
            "-Dtaskmanager.memory.network.max=64m",
            "-Dtaskmanager.memory.jvm-metaspace.size=256m",
            "-Dtaskmanager.memory.jvm-overhead.min=192m",
            "-Dtaskmanager.memory.jvm-overhead.max=192m"));
    awaitSlots();
  }

  private void start(String main, List<String> own) throws IOException {
    List<String> command = new ArrayList<>(List.of("java", "-Xmx512m", "-XX:TieredStopAtLevel=1"));
    command.add("-XX:-UsePerfData");
    for (String opened : List.of("lang", "net", "time", "util", "util.concurrent")) {
      command.add("--add-opens=java.base/java." + opened + "=ALL-UNNAMED");
    }
    command.addAll(List.of("-cp", classPath, main, "--configDir", folder.toString()));
    command.addAll(settings);
    command.addAll(own);
    Path log = folder.resolve(main.substring(main.lastIndexOf('.') + 1) + ".log");
    processes.add(
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start());
  }

  private static String classPath(Path root, String without) throws IOException {
    List<String> jars = new ArrayList<>();
    for (String kind : List.of("lib", "session-cluster")) {
      try (Stream<Path> files = Files.list(root.resolve("build/java").resolve(kind))) {
        files
            .filter(jar -> jar.toString().endsWith(".jar"))
            .filter(jar -> !jar.getFileName().toString().matches(without))
            .map(Path::toString)
            .forEach(jars::add);
      }
    }
    return String.join(":", jars);
  }

  private void awaitSlots() throws IOException, InterruptedException {
    long deadline = System.nanoTime() + TIMEOUT_S * 1_000_000_000L;
    while (!get("/overview").contains("\"slots-total\":2")) {
      if (System.nanoTime() > deadline || !processes.stream().allMatch(Process::isAlive)) {
        throw new AssertionError("the cluster does not start:\n" + logs());
      }
      Thread.sleep(100);
    }
  }

  private String logs() throws IOException {
    StringBuilder logs = new StringBuilder();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path log : files.filter(file -> file.toString().endsWith(".log")).toList()) {
        logs.append(Files.readString(log));
      }
    }
    return logs.toString();
  }

  String url() {
    return "http://127.0.0.1:" + restPort;
  }

  /**
   * Returns the body of the cluster's response, or an empty string if the cluster does not answer.
   */
  String get(String path) throws InterruptedException {
    try {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url() + path)).build();
      return HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
    } catch (IOException starting) {
      return "";
    }
  }

  void delete(String path) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url() + path)).DELETE().build();
    HttpClient.newHttpClient().send(request, BodyHandlers.discarding());
  }

  List<Process> processes() {
    return processes;
  }

  @Override
  public void close() throws InterruptedException {
    for (Process process : processes) {
      process.destroyForcibly().waitFor();
    }
  }
}
