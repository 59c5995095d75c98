package io.tapline.flink.support;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/**
 * A Flink session cluster like a deployed one: a job manager and a task manager run in separate
 * processes. Their class path has all libraries, but not the job, whose jar is uploaded.
 */
public final class SessionCluster implements AutoCloseable {
  private static final int SLOTS = 2;

  private final Path directory;
  private final Path configuration;
  private final FlinkRest rest;
  private final ServerProcess jobManager;
  private final ServerProcess taskManager;

  public SessionCluster(Path directory) throws Exception {
    this(directory, Map.of());
  }

  /**
   * Starts a cluster.
   *
   * @param settings settings that extend or replace the defaults
   */
  public SessionCluster(Path directory, Map<String, String> settings) throws Exception {
    this.directory = Files.createDirectories(directory);
    this.configuration = Files.createDirectories(directory.resolve("conf"));
    Files.writeString(configuration.resolve("config.yaml"), "parallelism.default: 1\n");
    int restPort = FreePort.choose();
    Map<String, String> both = new TreeMap<>();
    both.put("jobmanager.rpc.address", "127.0.0.1");
    both.put("jobmanager.rpc.port", Integer.toString(FreePort.choose()));
    both.put("rest.port", Integer.toString(restPort));
    both.put("rest.address", "127.0.0.1");
    both.put("io.tmp.dirs", directory.toString());
    both.putAll(settings);
    rest = new FlinkRest("http://127.0.0.1:" + restPort);
    jobManager =
        process("org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", both);
    Map<String, String> ofTaskManager = new TreeMap<>(TASK_MANAGER);
    ofTaskManager.putAll(both);
    taskManager = process("org.apache.flink.runtime.taskexecutor.TaskManagerRunner", ofTaskManager);
    jobManager.start();
    taskManager.start();
    awaitSlots();
  }

  private static final Map<String, String> TASK_MANAGER =
      Map.ofEntries(
          Map.entry("taskmanager.host", "127.0.0.1"),
          Map.entry("taskmanager.numberOfTaskSlots", Integer.toString(SLOTS)),
          Map.entry("taskmanager.cpu.cores", "1"),
          Map.entry("taskmanager.memory.framework.heap.size", "128m"),
          Map.entry("taskmanager.memory.task.heap.size", "256m"),
          Map.entry("taskmanager.memory.framework.off-heap.size", "128m"),
          Map.entry("taskmanager.memory.task.off-heap.size", "0b"),
          Map.entry("taskmanager.memory.managed.size", "0b"),
          Map.entry("taskmanager.memory.network.min", "64m"),
          Map.entry("taskmanager.memory.network.max", "64m"),
          Map.entry("taskmanager.memory.jvm-metaspace.size", "256m"),
          Map.entry("taskmanager.memory.jvm-overhead.min", "192m"),
          Map.entry("taskmanager.memory.jvm-overhead.max", "192m"));

  private ServerProcess process(String main, Map<String, String> settings) {
    List<String> options = new ArrayList<>(List.of("-Xmx512m"));
    for (String open :
        List.of("java.util", "java.lang", "java.net", "java.time", "java.util.concurrent")) {
      options.add("--add-opens=java.base/" + open + "=ALL-UNNAMED");
    }
    List<String> arguments = new ArrayList<>(List.of("--configDir", configuration.toString()));
    settings.forEach((name, value) -> arguments.add("-D" + name + "=" + value));
    return ServerProcess.java(directory.resolve(main + ".log"), options, main, arguments);
  }

  private void awaitSlots() throws Exception {
    Deadline.await(
        "a task manager with slots",
        () -> {
          jobManager.requireAlive();
          taskManager.requireAlive();
          return rest.slots() == SLOTS;
        });
  }

  /** Writes job.jar, which contains only this module's classes and resources. Returns its path. */
  public static Path jobJar(Path directory) throws Exception {
    Path classes =
        Path.of(
            io.tapline.flink.job.QueryJob.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    Path jar = Files.createDirectories(directory).resolve("job.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
        Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
        out.closeEntry();
      }
    }
    return jar;
  }

  public FlinkRest rest() {
    return rest;
  }

  /** Kills the task manager with SIGKILL and starts another one immediately. */
  public void replaceTaskManager() throws Exception {
    taskManager.kill();
    taskManager.start();
  }

  /** Kills the job manager with SIGKILL and starts another one immediately. */
  public void replaceJobManager() throws Exception {
    jobManager.kill();
    jobManager.start();
  }

  public void collectGarbage() throws Exception {
    jobManager.collectGarbage();
    taskManager.collectGarbage();
  }

  @Override
  public void close() throws InterruptedException {
    taskManager.close();
    jobManager.close();
  }
}
