package io.tapline.e2e;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A program that {@link SecondUserTest} runs as another user of the host. It tries to access each
 * object that its standard input names, one per line ({@code KIND NAME}), and prints a line for
 * each object that it can read, write or use. The kinds are {@code process}, {@code port}, {@code
 * rest}, {@code socket}, {@code file} (also a folder with everything below it) and {@code folder}
 * (the same, but the folder itself may be open to all users).
 */
final class OtherUser {
  private static final int TIMEOUT_MS = 10_000;
  private static final int MAX_BYTES = 4_096;

  /** Files in /proc that reveal a process's data. */
  private static final List<String> PROCESS_FILES =
      List.of("environ", "mem", "maps", "smaps", "auxv", "fd", "fdinfo", "map_files", "io");

  /**
   * A presumed secret on a command line: 20 or more alphanumeric characters, both letters and
   * digits.
   */
  private static final Pattern SECRET =
      Pattern.compile("(?=\\p{Alnum}*\\p{Alpha})(?=\\p{Alnum}*\\d)\\p{Alnum}{20,}");

  private static final Pattern SECRET_OPTION =
      Pattern.compile("(?i)(password|passwd|secret|requirepass|masterauth)(?!\\S*(-file|/))\\S*");

  private static final List<String> REST_READS =
      List.of("/api/v1/queries", "/api/v1/nodes", "/api/v1/topology", "/metrics");

  private int tried;

  private OtherUser() {}

  public static void main(String[] arguments) throws IOException {
    OtherUser stranger = new OtherUser();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int space = line.indexOf(' ');
      stranger.look(line.substring(0, space), line.substring(space + 1));
    }
    System.out.println("tried " + stranger.tried);
  }

  private void look(String kind, String target) throws IOException {
    tried++;
    switch (kind) {
      case "process" -> process(Path.of("/proc", target));
      case "port" -> port(Integer.parseInt(target));
      case "rest" -> rest(Integer.parseInt(target));
      case "socket" -> socket(target);
      case "file" -> files(Path.of(target), null);
      case "folder" -> files(Path.of(target), Path.of(target));
      default -> throw new IllegalArgumentException(kind);
    }
  }

  private static void found(String format, Object... arguments) {
    System.out.println(format.formatted(arguments));
  }

  private static void process(Path process) {
    String command = commandLine(process);
    for (String name : PROCESS_FILES) {
      Path file = process.resolve(name);
      if (canRead(file)) {
        found("%s (%s) can be read", file, command);
      }
    }
    for (Pattern pattern : List.of(SECRET, SECRET_OPTION)) {
      pattern
          .matcher(command)
          .results()
          .forEach(match -> found("a secret on a command line: %s in %s", match.group(), command));
    }
  }

  private static String commandLine(Path process) {
    try {
      return Files.readString(process.resolve("cmdline")).replace('\0', ' ').strip();
    } catch (IOException gone) {
      return "";
    }
  }

  /** Tries to read the file, since in /proc a file's permissions are not decisive. */
  private static boolean canRead(Path file) {
    try {
      if (Files.isDirectory(file)) {
        Files.list(file).close();
        return true;
      }
      try (InputStream in = Files.newInputStream(file)) {
        in.read();
        return true;
      }
    } catch (IOException refused) {
      return false;
    }
  }

  private static void files(Path top, Path exempt) throws IOException {
    Files.walkFileTree(
        top,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            if (!folder.equals(exempt)) {
              permissions(folder);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            permissions(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException refused) {
            if (Files.exists(file)) {
              permissions(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
  }

  private static void permissions(Path file) {
    String can =
        (Files.isReadable(file) ? "r" : "")
            + (Files.isWritable(file) ? "w" : "")
            + (Files.isExecutable(file) ? "x" : "");
    if (!can.isEmpty()) {
      found("%s is open to all users (%s)", file, can);
    }
  }

  private static void socket(String path) {
    if (path.startsWith("@")) {
      found("the abstract socket %s is open to all users", path);
      return;
    }
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(path));
      found("the socket %s accepts all users", path);
    } catch (IOException refused) {
      // The operation was refused, as it should be.
    }
  }

  /**
   * Reports a port unless a known service behind it refuses the request. The binary probes come
   * last, since Kafka would take them for incomplete requests and wait for the rest.
   */
  private static void port(int port) throws IOException {
    if (isRecognized(port, TEXT_PROBES)) {
      return;
    }
    byte[] versions = exchange(port, API_VERSIONS);
    if (versions.length > 8 && versions[7] == API_VERSIONS_CORRELATION) {
      kafka(port);
    } else if (!isRecognized(port, BINARY_PROBES) && !wantsCertificate(port)) {
      found("port %d is open, and no known protected service answers on it", port);
    }
  }

  /**
   * Returns true if a probe has recognized the service; reports the service if it is accessible.
   */
  private static boolean isRecognized(int port, List<Probe> probes) {
    for (Probe probe : probes) {
      byte[] response = exchange(port, probe.request());
      String verdict = response.length == 0 ? "" : probe.verdict(response);
      if (!verdict.isEmpty() && !verdict.equals(CLOSED)) {
        found("port %d: %s", port, verdict);
      }
      if (!verdict.isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private static final String CLOSED = "closed";

  /**
   * A request, and the meaning of possible responses.
   *
   * @param answers verdicts by pattern of the response's first bytes, read as a string with one
   *     character per byte
   */
  private record Probe(byte[] request, Map<Pattern, String> answers) {
    static Probe text(String request, Map<String, String> responses) {
      return new Probe(request.getBytes(StandardCharsets.ISO_8859_1), compiled(responses));
    }

    static Probe hex(String request, Map<String, String> responses) {
      return new Probe(HexFormat.of().parseHex(request), compiled(responses));
    }

    private static Map<Pattern, String> compiled(Map<String, String> responses) {
      return responses.entrySet().stream()
          .collect(
              Collectors.toMap(
                  response -> Pattern.compile(response.getKey(), Pattern.DOTALL),
                  Map.Entry::getValue));
    }

    private static String printable(String text) {
      return text.lines().findFirst().orElse("").split("[^ -~]", 2)[0];
    }

    String verdict(byte[] response) {
      String text = new String(response, StandardCharsets.ISO_8859_1);
      return answers.entrySet().stream()
          .filter(known -> known.getKey().matcher(text).lookingAt())
          .map(
              known ->
                  known.getValue().equals(CLOSED)
                      ? CLOSED
                      : known.getValue() + ": " + printable(text))
          .findFirst()
          .orElse("");
    }
  }

  private static final String HTTP_CLOSED = "HTTP/1\\.1 40[13] ";

  private static final List<Probe> TEXT_PROBES =
      List.of(
          Probe.text(
              "KEYS *\r\n",
              Map.of("[*]", "Redis lists its keys", "-(NOAUTH|NOPERM|DENIED)", CLOSED)),
          Probe.text(
              "GET /overview HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
              Map.of(
                  HTTP_CLOSED, CLOSED, "HTTP/1\\.1 (?!40[13] )", "HTTP answers without a secret")));

  private static final List<Probe> BINARY_PROBES =
      List.of(
          // Asks Flink's blob server to store ten bytes that belong to no job.
          Probe.hex(
              "000001" + "0a000000" + "7374616e676572206865" + "ffffffff",
              Map.of("\\x00", "Flink's blob server accepts a file")),
          Probe.text("JRMI\0\2K", Map.of("N", "remote method invocation (JMX)")),
          Probe.hex("0400000800000001", Map.of("\\x04[\\x00\\x05]", "OpenFlow says hello")),
          Probe.text(
              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
              Map.of("\\x00\\x00.\\x04", "gRPC answers without TLS")));

  private static final int API_VERSIONS_CORRELATION = 7;
  private static final byte[] API_VERSIONS =
      HexFormat.of().parseHex("0000000a0012000000000007ffff");

  private static final byte[] DESCRIBE_CLUSTER =
      HexFormat.of().parseHex("0000000d003c000000000008ffff000000");

  private static final byte[] SILENCE = new byte[0];

  /**
   * Sends a request and returns the first bytes of the response: an empty array if the connection
   * is refused or closed, {@link #SILENCE} if no response arrives in time.
   */
  private static byte[] exchange(int port, byte[] request) {
    try (Socket socket = connected(port)) {
      socket.getOutputStream().write(request);
      byte[] buffer = new byte[MAX_BYTES];
      int length = socket.getInputStream().read(buffer);
      return length <= 0 ? new byte[0] : ByteBuffer.wrap(buffer, 0, length).slice().array();
    } catch (SocketTimeoutException late) {
      return SILENCE;
    } catch (IOException refused) {
      return new byte[0];
    }
  }

  private static Socket connected(int port) throws IOException {
    Socket socket = new Socket();
    socket.connect(new InetSocketAddress("127.0.0.1", port), TIMEOUT_MS);
    socket.setSoTimeout(TIMEOUT_MS);
    return socket;
  }

  /**
   * Returns true if the server requires a client certificate. In TLS 1.3, a client learns this only
   * when it reads.
   */
  private static boolean wantsCertificate(int port) {
    try (Socket plain = connected(port);
        SSLSocket socket =
            (SSLSocket)
                trusting().getSocketFactory().createSocket(plain, "127.0.0.1", port, true)) {
      try {
        socket.startHandshake();
      } catch (SSLException refused) {
        return String.valueOf(refused.getMessage()).contains("fatal alert");
      }
      try {
        return socket.getInputStream().read() < 0;
      } catch (SSLException | SocketException refused) {
        return true;
      }
    } catch (IOException | GeneralSecurityException noTls) {
      return false;
    }
  }

  private static SSLContext trusting() throws GeneralSecurityException {
    SSLContext context = SSLContext.getInstance("TLS");
    TrustManager all =
        new X509TrustManager() {
          @Override
          public void checkClientTrusted(X509Certificate[] chain, String type) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String type) {}

          @Override
          public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
          }
        };
    context.init(null, new TrustManager[] {all}, null);
    return context;
  }

  /**
   * Reports the requests that a broker or controller accepts. A protected one sends its API
   * versions to any client, but closes the connection on any other request.
   */
  private static void kafka(int port) {
    byte[] response = exchange(port, DESCRIBE_CLUSTER);
    if (response.length == 0 && response != SILENCE) {
      return;
    }
    List<String> can = new ArrayList<>(List.of("describe the cluster"));
    for (String bootstrap : List.of("bootstrap.servers", "bootstrap.controllers")) {
      tryKafka(
          Map.of(
              bootstrap,
              "127.0.0.1:" + port,
              "request.timeout.ms",
              TIMEOUT_MS,
              "default.api.timeout.ms",
              TIMEOUT_MS,
              "max.block.ms",
              TIMEOUT_MS),
          can);
    }
    found("port %d: Kafka lets all users %s", port, String.join(", ", can));
  }

  private static void tryKafka(Map<String, Object> settings, List<String> can) {
    try (Admin admin = Admin.create(settings)) {
      if (settings.containsKey("bootstrap.controllers")) {
        long leader = get(admin.describeMetadataQuorum().quorumInfo()).leaderId();
        can.add("describe the quorum that " + leader + " leads");
        return;
      }
      Set<String> topics = get(admin.listTopics().names());
      can.add("list its topics " + topics);
      get(admin.createTopics(List.of(new NewTopic("stranger", 1, (short) 1))).all());
      can.add("make a topic");
      write(settings);
      can.add("write");
      for (String topic : topics) {
        can.add("read " + read(settings, topic) + " records of " + topic);
      }
      get(admin.deleteTopics(List.of("stranger")).all());
    } catch (ExecutionException | TimeoutException | KafkaException refused) {
      // The permissions found before the failure are sufficient.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static <T> T get(KafkaFuture<T> future)
      throws ExecutionException, TimeoutException, InterruptedException {
    return future.get(2L * TIMEOUT_MS, TimeUnit.MILLISECONDS);
  }

  private static void write(Map<String, Object> settings)
      throws ExecutionException, InterruptedException, TimeoutException {
    Map<String, Object> producing = new HashMap<>(settings);
    producing.put("delivery.timeout.ms", 2 * TIMEOUT_MS);
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(producing, new ByteArraySerializer(), new ByteArraySerializer())) {
      producer
          .send(new ProducerRecord<>("stranger", new byte[1]))
          .get(2L * TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }
  }

  private static int read(Map<String, Object> settings, String topic) {
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> first = List.of(new TopicPartition(topic, 0));
      consumer.assign(first);
      consumer.seekToBeginning(first);
      return consumer.poll(Duration.ofMillis(TIMEOUT_MS)).count();
    }
  }

  private static void rest(int port) {
    for (String path : REST_READS) {
      refuse(port, "GET " + path);
    }
    refuse(port, "POST /api/v1/queries");
    refuse(port, "DELETE /api/v1/queries/q-1");
  }

  private static void refuse(int port, String request) {
    String text =
        request + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    byte[] response = exchange(port, text.getBytes(StandardCharsets.ISO_8859_1));
    String status =
        new String(response, StandardCharsets.ISO_8859_1).lines().findFirst().orElse("");
    if (!Pattern.compile(HTTP_CLOSED).matcher(status).lookingAt()) {
      found("port %d: REST answers %s: %s", port, request, status);
    }
  }
}
