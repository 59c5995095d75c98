package io.tapline.flink.support;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A Flink session cluster as it is deployed: a job manager and a task manager as processes of their
 * own, all libraries on their class path but the job's jar, which is uploaded.
 */
public final class SessionCluster implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final List<Process> processes = new ArrayList<>();
  private final String rest;
  private final Path directory;

  public SessionCluster(Path directory) throws Exception {
    this.directory = Files.createDirectories(directory);
    int restPort = FreePort.choose();
    int rpcPort = FreePort.choose();
    rest = "http://127.0.0.1:" + restPort;
    List<String> both =
        List.of(
            "-Djobmanager.rpc.address=127.0.0.1",
            "-Djobmanager.rpc.port=" + rpcPort,
            "-Drest.port=" + restPort,
            "-Drest.address=127.0.0.1",
            "-Dio.tmp.dirs=" + directory);
    start(
        "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", both, List.of());
    start(
        "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
        both,
        List.of(
            "-Dtaskmanager.host=127.0.0.1",
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
    Deadline.await(
        "a task manager with slots", () -> get("/overview").path("slots-total").asInt() == 2);
  }

  private void start(String main, List<String> common, List<String> own) throws IOException {
    Path configuration = Files.createDirectories(directory.resolve("conf"));
    Path file = configuration.resolve("config.yaml");
    if (!Files.exists(file)) {
      Files.writeString(file, "parallelism.default: 1\n");
    }
    List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
    command.addAll(
        List.of(
            System.getProperty("java.home") + "/bin/java", "-Xmx512m", "-XX:TieredStopAtLevel=1"));
    for (String open :
        List.of("java.util", "java.lang", "java.net", "java.time", "java.util.concurrent")) {
      command.add("--add-opens=java.base/" + open + "=ALL-UNNAMED");
    }
    command.addAll(List.of("-cp", librariesOnly(), main, "--configDir", configuration.toString()));
    command.addAll(common);
    command.addAll(own);
    processes.add(
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve(main + ".log").toFile())
            .start());
  }

  /** This test's class path without the classes of this module, as if the job were not there. */
  private static String librariesOnly() {
    String all =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    return Arrays.stream(all.split(":"))
        .filter(entry -> !entry.contains("/flink-jobs/target/"))
        .collect(Collectors.joining(":"));
  }

  /** A jar of this module's classes and resources and nothing else. */
  public static Path jobJar(Path directory) throws Exception {
    Path classes =
        Path.of(
            io.tapline.flink.QueryJob.class
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

  /** Uploads a jar; returns its ID. */
  public String upload(Path jar) throws Exception {
    String boundary = "tapline-part";
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(
        ("--"
                + boundary
                + "\r\nContent-Disposition: form-data; name=\"jarfile\"; filename=\"job.jar\"\r\n"
                + "Content-Type: application/x-java-archive\r\n\r\n")
            .getBytes(StandardCharsets.UTF_8));
    body.writeBytes(Files.readAllBytes(jar));
    body.writeBytes(("\r\n--" + boundary + "--\r\n").getBytes(StandardCharsets.UTF_8));
    JsonNode answer =
        send(
            HttpRequest.newBuilder(URI.create(rest + "/jars/upload"))
                .header("Content-Type", "multipart/form-data; boundary=" + boundary)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body.toByteArray())));
    return Path.of(answer.get("filename").asText()).getFileName().toString();
  }

  /** Runs the uploaded jar with a job ID of the caller's choice; returns the answer's status. */
  public JsonNode run(String jar, String jobId, List<String> arguments) throws Exception {
    var body =
        MAPPER
            .createObjectNode()
            .put("entryClass", "io.tapline.flink.QueryJob")
            .put("jobId", jobId);
    arguments.forEach(body.putArray("programArgsList")::add);
    return send(
        HttpRequest.newBuilder(URI.create(rest + "/jars/" + jar + "/run"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body.toString())));
  }

  public String state(String jobId) throws Exception {
    return get("/jobs/" + jobId).path("state").asText();
  }

  private JsonNode get(String path) throws Exception {
    try {
      return send(HttpRequest.newBuilder(URI.create(rest + path)).GET());
    } catch (java.net.ConnectException e) {
      for (Process process : processes) {
        if (!process.isAlive()) {
          throw new IllegalStateException("a process of the cluster ended, see " + directory, e);
        }
      }
      return MAPPER.readTree("{\"slots-total\":0}");
    }
  }

  private JsonNode send(HttpRequest.Builder request) throws Exception {
    return MAPPER.readTree(http.send(request.build(), HttpResponse.BodyHandlers.ofString()).body());
  }

  @Override
  public void close() throws InterruptedException {
    for (Process process : processes) {
      process.destroyForcibly().waitFor();
    }
  }
}
