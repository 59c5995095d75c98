package io.tapline.control.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.console.Console;
import io.tapline.control.probe.TlsPeer;
import io.tapline.control.rest.StoredQueries;
import io.tapline.control.testing.Certificates;
import io.tapline.control.testing.TestRedis;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the error messages for wrong inputs, which docs/reference/errors.md lists. With
 * -Dgolden.update=true, the test rewrites the page, which must then be reviewed.
 *
 * <p>Commands of {@code tapline} run in this process, as bin/tapline would run them; WrongInputTest
 * runs some through the script.
 */
class RefusalsTest {
  private static final Path ROOT = Path.of(System.getProperty("tapline.root", ".."));
  private static final Path PAGE = ROOT.resolve("docs/reference/errors.md");
  private static final String BEGIN = "<!-- RefusalsTest writes the rest of this page. -->\n";

  /**
   * A limit far above the duration of a refusal, and far below the time that commands wait for a
   * service.
   */
  private static final Duration LIMIT = Duration.ofSeconds(5);

  private static final String QUERY = "PARSE http_get FROM * TO *:80 PROCESS (top-k: k=3, w=10s)";

  @TempDir static Path folder;
  private static final Map<String, String> PLACES = new TreeMap<>();
  private static final List<AutoCloseable> SERVERS = new ArrayList<>();
  private static StoredQueries stored;

  /** The error message for an input, and its exit code or HTTP status. */
  private record Outcome(String output, String code) {}

  @BeforeAll
  static void start() throws Exception {
    System.setProperty("tapline.home", ROOT.toAbsolutePath().normalize().toString());
    writeFiles();
    ServerSocket silentSocket = opened(new ServerSocket(0, 64, InetAddress.getLoopbackAddress()));
    Certificates authority = Certificates.authority(folder, "authority");
    authority.sign("server", "IP:127.0.0.1");
    stored = opened(new StoredQueries());
    PLACES.put("UNUSED", "127.0.0.1:1");
    PLACES.put("WEB", opened(WebPeer.start()).address());
    PLACES.put("SILENT", "127.0.0.1:" + silentSocket.getLocalPort());
    PLACES.put("SECURE", opened(TlsPeer.start(authority.files("server"))).address());
    PLACES.put("REDIS", opened(TestRedis.start()).address());
  }

  private static <T extends AutoCloseable> T opened(T server) {
    SERVERS.add(server);
    return server;
  }

  @AfterAll
  static void stop() throws Exception {
    System.clearProperty("tapline.home");
    for (AutoCloseable server : SERVERS) {
      server.close();
    }
  }

  private static void writeFiles() throws Exception {
    byte[] compressed = Files.readAllBytes(ROOT.resolve("testbed/captures/http_small.pcap.zst"));
    byte[] header = new byte[24];
    System.arraycopy(
        new byte[] {(byte) 0xd4, (byte) 0xc3, (byte) 0xb2, (byte) 0xa1, 2, 0, 4}, 0, header, 0, 7);
    header[20] = (byte) 189;
    write("notes.txt", "Once upon a time there was a packet.\n".getBytes(StandardCharsets.UTF_8));
    write("empty.pcap", new byte[0]);
    write("cut.pcap", Arrays.copyOf(header, 20));
    write("usb.pcap", header);
    write("broken.pcap.zst", Arrays.copyOf(compressed, 9));
    write("good.pcap.zst", compressed);
    ByteArrayOutputStream zipped = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(zipped)) {
      gzip.write(header);
    }
    write("web.pcap.gz", zipped.toByteArray());
    write("wrong.yaml", "lane: 2\n".getBytes(StandardCharsets.UTF_8));
    Files.createDirectory(folder.resolve("captures"));
  }

  private static void write(String name, byte[] content) throws IOException {
    Files.write(folder.resolve(name), content);
  }

  /** Returns wrong inputs by heading of the page, as typed in the folder with the test's files. */
  private static Map<String, List<String>> inputs() {
    Map<String, List<String>> inputs = new LinkedHashMap<>();
    inputs.put(
        "Captures",
        List.of(
            "tapline run QUERY --pcap notes.txt",
            "tapline run QUERY --pcap empty.pcap",
            "tapline run QUERY --pcap none.pcap",
            "tapline run QUERY --pcap captures",
            "tapline run QUERY --pcap cut.pcap",
            "tapline run QUERY --pcap usb.pcap",
            "tapline run QUERY --pcap broken.pcap.zst",
            "tapline run QUERY --pcap web.pcap.gz",
            "tapline run QUERY --pcap good.pcap.zst --pcap notes.txt",
            "tapline server --port 0 --pcap notes.txt",
            "tapline parse --parser http_get --pcap notes.txt"));
    inputs.put(
        "Servers",
        List.of(
            "tapline run QUERY --pcap good.pcap.zst --brokers UNUSED",
            "tapline run QUERY --pcap good.pcap.zst --redis UNUSED",
            "tapline server --port 0 --brokers UNUSED",
            "tapline server --port 0 --redis UNUSED",
            "tapline run QUERY --pcap good.pcap.zst --brokers kafka..example:9092 --clear kafka",
            "tapline run QUERY --pcap good.pcap.zst --redis redis..example:6379 --clear redis",
            "tapline run QUERY --pcap good.pcap.zst --brokers WEB",
            "tapline run QUERY --pcap good.pcap.zst --redis WEB",
            "tapline run QUERY --pcap good.pcap.zst --brokers REDIS",
            "tapline run QUERY --pcap good.pcap.zst --brokers SECURE",
            "tapline run QUERY --pcap good.pcap.zst --redis SECURE",
            "tapline server --port 0 --brokers SILENT",
            "tapline server --port 0 --redis SILENT",
            "tapline server --port 0 --redis unix:/none.sock",
            "tapline server --port 0 --brokers 127.0.0.1",
            "tapline server --port 0 --brokers 127.0.0.1:99999"));
    inputs.put(
        "Queries",
        List.of(
            "tapline fmt 'PARSE http_get TO *:99999 PROCESS (top-k)'",
            "tapline fmt 'PARSE http_get TO 300.1.2.3 PROCESS (top-k)'",
            "tapline fmt 'PARSE http_get TO * LIMIT 9x PROCESS (top-k)'",
            "tapline fmt 'PARSE http_get TO * SAMPLE 1.5 PROCESS (top-k)'",
            "tapline fmt 'PARSE http_get TO * PROCESS (top-k: k=0)'",
            "tapline fmt 'PARSE http_get TO * PROCESS (top-k: w=10)'",
            "tapline fmt 'PARSE http_get TO * PROCESS (topk)'",
            "tapline run 'PARSE htp_get TO * PROCESS (top-k)' --pcap good.pcap.zst"));
    inputs.put(
        "Command lines",
        List.of(
            "tapline rnu",
            "tapline run QUERY",
            "tapline run QUERY --pcap good.pcap.zst --speed 2x",
            "tapline server --port 70000",
            "tapline query list --server nonsense",
            "tapline query list --server http://UNUSED",
            "tapline-monitor --pcap good.pcap.zst --parser htp_get",
            "tapline-monitor --pcap none.pcap --parser http_get",
            "tapline-agent --nmae h1",
            "tapline-multilog --config wrong.yaml",
            "tapline-multilog --pcap notes.txt --listen 127.0.0.1:0"));
    inputs.put(
        "REST",
        List.of(
            "POST /api/v1/queries {\"query\": ",
            "POST /api/v1/queries {'query': \"PARSE\"}",
            "POST /api/v1/queries {\"query\": \"PARSE\",}",
            "POST /api/v1/queries {\"qurey\": \"PARSE\"}",
            "POST /api/v1/explain {\"query\": \"PARSE http_get TO *:99999 PROCESS (top-k)\"}"));
    return inputs;
  }

  @Test
  void thePageMatchesTheErrors() throws Exception {
    StringBuilder page = new StringBuilder();
    int number = 0;
    for (Map.Entry<String, List<String>> section : inputs().entrySet()) {
      page.append("## ").append(section.getKey()).append("\n\n");
      for (String input : section.getValue()) {
        long beginNs = System.nanoTime();
        Outcome outcome = outcome(input);
        Duration took = Duration.ofNanos(System.nanoTime() - beginNs);
        System.out.printf(
            "%2d %5d ms  %-14s %s%n%s%n%n",
            ++number,
            took.toMillis(),
            outcome.code(),
            input,
            outcome.output().indent(4).stripTrailing());
        assertThat(took).as(input).isLessThan(LIMIT);
        assertReadable(input, outcome.output());
        page.append(entry(input, outcome));
      }
    }
    assertThat(number).isGreaterThanOrEqualTo(30);
    check(page.toString());
  }

  private static void assertReadable(String input, String output) {
    assertThat(output).as(input).isNotBlank();
    assertThat(output.toLowerCase(Locale.ROOT))
        .as("%s: one message in plain words", input)
        .doesNotContain("exception", "error: error", "\tat ", "jackson", "null;", ": null")
        .doesNotMatch("(?s).*error:.*error:.*");
  }

  private static String entry(String input, Outcome outcome) {
    return "    $ %s\n%s\n    → %s\n\n"
        .formatted(input, outcome.output().indent(4).stripTrailing(), outcome.code());
  }

  private static void check(String list) throws IOException {
    String previousText = Files.readString(PAGE);
    String intro = previousText.substring(0, previousText.indexOf(BEGIN) + BEGIN.length());
    String page = intro + "\n" + list.stripTrailing() + "\n";
    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(PAGE, page);
    }
    assertThat(Files.readString(PAGE))
        .as("-Dgolden.update=true writes %s again", PAGE)
        .isEqualTo(page);
  }

  private static Outcome outcome(String input) throws Exception {
    if (input.startsWith("POST ")) {
      return posted(input.split(" ", 3));
    }
    List<String> words = words(input);
    List<String> arguments = words.subList(1, words.size());
    return words.get(0).equals("tapline") ? tapline(arguments) : program(words.get(0), arguments);
  }

  /**
   * Splits the input like a shell into words and single-quoted strings. Replaces placeholders, and
   * resolves file names in the test's folder.
   */
  private static List<String> words(String input) {
    List<String> words = new ArrayList<>();
    String[] parts = input.split("'");
    for (int i = 0; i < parts.length; i++) {
      if (i % 2 == 1) {
        words.add(parts[i]);
      } else {
        Arrays.stream(parts[i].strip().split(" "))
            .filter(word -> !word.isEmpty())
            .map(RefusalsTest::meant)
            .forEach(words::add);
      }
    }
    return words;
  }

  private static String meant(String word) {
    if (word.equals("QUERY")) {
      return QUERY;
    } else if (word.matches("[a-z]+(\\.[a-z]+)+|captures")) {
      return folder.resolve(word).toString();
    }
    for (Map.Entry<String, String> place : PLACES.entrySet()) {
      if (word.endsWith(place.getKey())) {
        return word.replace(place.getKey(), place.getValue());
      }
    }
    return word;
  }

  private static String shown(String output) {
    String text = output.replace(folder + "/", "");
    for (Map.Entry<String, String> place : PLACES.entrySet()) {
      text = text.replaceAll(Pattern.quote(place.getValue()) + "\\b", place.getKey());
    }
    return text.strip();
  }

  private static Outcome tapline(List<String> arguments) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int code = Main.run(new Console(out, err, 0, false), arguments.toArray(String[]::new));
    assertThat(out.size()).as("%s: nothing on standard output", arguments).isZero();
    return new Outcome(shown(err.toString(StandardCharsets.UTF_8)), "exit code " + code);
  }

  private static Outcome program(String name, List<String> arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of(ROOT.resolve("build/bin/" + name).toString()));
    command.addAll(arguments);
    Process process =
        new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    String output = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    return new Outcome(shown(output), "exit code " + process.waitFor());
  }

  private static Outcome posted(String[] request) throws Exception {
    HttpResponse<String> response =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(stored.url() + request[1]))
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(request[2]))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    JsonNode problem = ApiClient.MAPPER.readTree(response.body());
    assertThat(response.headers().firstValue("Content-Type"))
        .hasValueSatisfying(type -> assertThat(type).startsWith("application/problem+json"));
    return new Outcome(problem.path("detail").asText(), "status " + response.statusCode());
  }
}
