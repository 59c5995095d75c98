package io.tapline.control.cli.drill;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.tapline.control.cli.client.ApiClient;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.Moment;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;

/**
 * A YAML file with a list of watches:
 *
 * <pre>
 * - filter: tcp_flags == 2
 *   group_by: [src_ip]
 *   when: COUNT > 100
 *   window: 1s
 *   every: 10ms
 *   severity: critical
 *   hosts: [web-1]
 * - {filter: dst_port == 53, aggregate: SUM(bytes), when: SUM > 10MB, together: true}
 * </pre>
 */
final class WatchFile {
  private static final YAMLMapper YAML = new YAMLMapper();

  /** The REST request's members by the file's keys, which match the command's options. */
  private static final Map<String, String> KEYS =
      Map.ofEntries(
          Map.entry("filter", "filter"),
          Map.entry("aggregate", "aggregate"),
          Map.entry("group_by", "group_by"),
          Map.entry("when", "when"),
          Map.entry("window", "window_ns"),
          Map.entry("every", "every_ns"),
          Map.entry("after", "after"),
          Map.entry("clear", "clear"),
          Map.entry("cooldown", "cooldown_ns"),
          Map.entry("severity", "severity"),
          Map.entry("hosts", "nodes"),
          Map.entry("together", "together"),
          Map.entry("run", "run"));

  private WatchFile() {}

  /**
   * Reads a file.
   *
   * @return the watches as {@code POST /api/v1/watches} takes them
   * @throws UsageException if the file can't be read, or is not a list of watches with known keys
   *     and valid durations; the server checks all other values
   */
  static ArrayNode read(Path file) {
    JsonNode root = parse(file);
    if (!root.isArray() || root.isEmpty()) {
      throw new UsageException(
          file + ": it must be a list of watches, each with keys such as filter");
    }
    ArrayNode watches = ApiClient.MAPPER.createArrayNode();
    for (JsonNode writtenNode : root) {
      watches.add(watch(writtenNode, "%s: watch %d".formatted(file, watches.size() + 1)));
    }
    return watches;
  }

  private static JsonNode parse(Path file) {
    try {
      return YAML.readTree(Files.readString(file, StandardCharsets.UTF_8));
    } catch (NoSuchFileException e) {
      throw new UsageException("there is no file " + file);
    } catch (JsonProcessingException e) {
      String place = e.getLocation() == null ? "" : ":" + e.getLocation().getLineNr();
      throw new UsageException("%s%s: %s".formatted(file, place, e.getOriginalMessage()));
    } catch (IOException e) {
      throw new UsageException("can't read %s: %s".formatted(file, e.getMessage()));
    }
  }

  private static ObjectNode watch(JsonNode writtenNode, String place) {
    if (!writtenNode.isObject()) {
      throw new UsageException(place + " has no keys; expected some of " + keys());
    }
    ObjectNode watch = ApiClient.MAPPER.createObjectNode();
    writtenNode
        .properties()
        .forEach(
            entry -> {
              String member = KEYS.get(entry.getKey());
              if (member == null) {
                throw new UsageException(
                    "%s: unknown key '%s'; expected some of %s"
                        .formatted(place, entry.getKey(), keys()));
              }
              if (member.endsWith("_ns")) {
                String key = place + ", " + entry.getKey() + ":";
                watch.put(member, Moment.duration(key, entry.getValue().asText()));
              } else {
                watch.set(member, entry.getValue());
              }
            });
    return watch;
  }

  private static String keys() {
    return String.join(", ", KEYS.keySet().stream().sorted().toList());
  }
}
