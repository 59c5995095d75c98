package io.tapline.compiler.access;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.text.Names;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The Kafka topics to which alerts may be sent. Each tenant may use topics that begin with {@code
 * alerts.TENANT.}; callers that need no token may use all that begin with {@code alerts.}. The
 * inventory's {@code topics} section allows others, for all tenants or by tenant:
 *
 * <pre>
 * topics: [pager, "noc.*"]
 *
 * topics:
 *   web: [web-pages]
 *   "*": [pager, "noc.*"]
 * </pre>
 *
 * <p>A star at the end matches any suffix that is not empty. No pattern allows topics that belong
 * to Tapline or to Kafka. Immutable.
 *
 * @param patterns patterns by tenant; "*" for all tenants
 */
public record AlertTopicPolicy(Map<String, List<String>> patterns) {
  public static final AlertTopicPolicy OWN = new AlertTopicPolicy(Map.of());

  public static final String NAME = "[a-zA-Z0-9._-]{1,249}";

  private static final String ALL = "*";
  private static final String PREFIX = "alerts.";
  private static final Pattern PATTERN = Pattern.compile("[a-zA-Z0-9._-]{1,249}\\*?|\\*");

  /** Reads the inventory's section. REQUIRES: it is not null. */
  public static AlertTopicPolicy read(JsonNode section) {
    if (section.isMissingNode() || section.isNull()) {
      return OWN;
    } else if (section.isArray()) {
      return new AlertTopicPolicy(Map.of(ALL, patterns(section, "topics")));
    } else if (!section.isObject()) {
      throw wrong("topics", "must be a list of topics, or map tenants to lists");
    }
    Map<String, List<String>> patterns = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> entry : section.properties()) {
      String place = "topics." + entry.getKey();
      if (!entry.getKey().equals(ALL) && !entry.getKey().matches(Rights.TENANT)) {
        throw wrong(place, "is not a tenant: use lower-case letters and digits, or * for all");
      } else if (!entry.getValue().isArray()) {
        throw wrong(place, "must be a list of topics");
      }
      patterns.put(entry.getKey(), patterns(entry.getValue(), place));
    }
    return new AlertTopicPolicy(Map.copyOf(patterns));
  }

  private static List<String> patterns(JsonNode list, String place) {
    List<String> patterns = new ArrayList<>();
    for (JsonNode prefix : list) {
      String pattern = prefix.asText();
      if (!prefix.isTextual() || !PATTERN.matcher(pattern).matches()) {
        throw wrong(
            place,
            "'%s' is not a topic: use letters, digits, '.', '_' and '-', with an optional * at the end"
                .formatted(pattern));
      } else if (isReserved(pattern)) {
        throw wrong(
            place,
            "'%s' is reserved for Tapline or Kafka: alerts can't be sent to it".formatted(pattern));
      }
      patterns.add(pattern);
    }
    return List.copyOf(patterns);
  }

  private static boolean isReserved(String name) {
    return name.startsWith("tapline.")
        || name.startsWith("__")
        || name.equals(".")
        || name.equals("..");
  }

  private static IllegalArgumentException wrong(String place, String message) {
    return new IllegalArgumentException("inventory, %s: %s".formatted(place, message));
  }

  public boolean allows(Rights rights, String topic) {
    return !isReserved(topic)
        && of(rights).stream()
            .anyMatch(
                pattern ->
                    pattern.endsWith(ALL)
                        ? isLonger(topic, pattern.substring(0, pattern.length() - 1))
                        : topic.equals(pattern));
  }

  private static boolean isLonger(String topic, String prefix) {
    return topic.startsWith(prefix) && topic.length() > prefix.length();
  }

  /** Returns the patterns that apply to a tenant, its own first. */
  private List<String> of(Rights rights) {
    List<String> all = new ArrayList<>();
    boolean isDefault = rights.tenant().equals(Rights.DEFAULT_TENANT);
    all.add(PREFIX + (isDefault ? "" : rights.tenant() + ".") + ALL);
    all.addAll(patterns.getOrDefault(rights.tenant(), List.of()));
    all.addAll(patterns.getOrDefault(ALL, List.of()));
    return all;
  }

  public String expected(Rights rights) {
    return "one of " + Names.list(of(rights));
  }
}
