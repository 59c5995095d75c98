package io.tapline.control.replicas;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The file that lists a pool's web servers and the thresholds at which they are added and removed.
 *
 * <pre>
 * name: videos
 * redis: 10.30.0.1:6379
 * upper_per_second: 10
 * lower_per_second: 4
 * back_off: 3s
 * servers:
 *   - {name: web1, address: "10.30.0.11:80"}
 *   - {name: web2, address: "10.30.0.12:80", start: [start-web, web2], stop: [stop-web, web2]}
 * </pre>
 *
 * @param servers in the order in which they are added; the first has all pages and always runs
 */
public record Pool(String name, String redis, Thresholds thresholds, List<WebServer> servers) {
  private static final YAMLMapper YAML = new YAMLMapper();
  private static final Set<String> MEMBERS =
      Set.of("name", "redis", "upper_per_second", "lower_per_second", "back_off", "servers");
  private static final Set<String> SERVER_MEMBERS = Set.of("name", "address", "start", "stop");
  private static final Pattern DURATION = Pattern.compile("(\\d{1,6})(ms|s|m)");
  private static final long NS_PER_MS = 1_000_000;

  /**
   * Parses a file's text.
   *
   * @throws IllegalArgumentException with a description of the error
   */
  public static Pool read(String yaml) {
    JsonNode root;
    try {
      root = YAML.readTree(yaml);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not YAML: " + e.getOriginalMessage(), e);
    }
    requireKnown(root, MEMBERS);
    String name = root.path("name").asText();
    if (!name.matches("[a-z0-9][a-z0-9_-]{0,62}")) {
      throw new IllegalArgumentException("name: use lower-case letters, digits, '_' and '-'");
    }
    String redis = root.path("redis").asText();
    if (!redis.matches("[A-Za-z0-9.-]+:\\d{1,5}|unix:/.+")) {
      throw new IllegalArgumentException("redis: HOST:PORT, or unix:/PATH");
    }
    Thresholds thresholds =
        new Thresholds(
            root.path("upper_per_second").asDouble(),
            root.path("lower_per_second").asDouble(),
            duration(root.path("back_off").asText("")));
    return new Pool(name, redis, thresholds, servers(root.path("servers")));
  }

  private static void requireKnown(JsonNode node, Set<String> members) {
    if (!node.isObject()) {
      throw new IllegalArgumentException(
          "it must be a map with the keys " + String.join(", ", members));
    }
    node.fieldNames()
        .forEachRemaining(
            member -> {
              if (!members.contains(member)) {
                throw new IllegalArgumentException("unknown member \"" + member + "\"");
              }
            });
  }

  private static long duration(String text) {
    Matcher matcher = DURATION.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("back_off: write it as 500ms, 10s or 2m");
    }
    long unit =
        switch (matcher.group(2)) {
          case "ms" -> NS_PER_MS;
          case "s" -> 1000 * NS_PER_MS;
          default -> 60_000 * NS_PER_MS;
        };
    return Long.parseLong(matcher.group(1)) * unit;
  }

  private static List<WebServer> servers(JsonNode list) {
    List<WebServer> servers = new ArrayList<>();
    Set<String> taken = new HashSet<>();
    for (JsonNode node : list) {
      try {
        requireKnown(node, SERVER_MEMBERS);
        WebServer server =
            new WebServer(
                node.path("name").asText(),
                node.path("address").asText(),
                command(node.path("start")),
                command(node.path("stop")));
        if (!taken.add(server.name()) | !taken.add(server.address())) {
          throw new IllegalArgumentException("another server has the same name or address");
        }
        servers.add(server);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(
            "server " + (servers.size() + 1) + ": " + e.getMessage(), e);
      }
    }
    if (servers.size() < 2) {
      throw new IllegalArgumentException("servers: list at least two");
    }
    return List.copyOf(servers);
  }

  private static List<String> command(JsonNode words) {
    if (!words.isMissingNode() && (!words.isArray() || words.isEmpty())) {
      throw new IllegalArgumentException(
          "start, stop: write lists of words such as [systemctl, start, web]");
    }
    List<String> command = new ArrayList<>();
    words.forEach(word -> command.add(word.asText()));
    return command;
  }
}
