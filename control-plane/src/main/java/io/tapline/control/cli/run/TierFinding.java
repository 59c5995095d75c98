package io.tapline.control.cli.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.cli.results.HostNames;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Compares connection times to servers that should behave the same: those whose names differ only
 * in their number, such as app1 and app2. If one host's connections to one of them take much
 * longer, reports that server and how its outgoing connections differ.
 */
final class TierFinding {
  /** Minimum ratio of two replicas' times or connection counts that is a notable difference. */
  private static final double NOTABLE_RATIO = 1.5;

  private static final double NS_PER_MS = 1e6;

  /** Connections from one host to another. */
  private record Tier(String from, String to, double meanNs, long count) {}

  /** Two tiers that should behave the same but do not. */
  private record TierContrast(Tier more, Tier less, double ratio) {}

  private final List<Tier> tiers = new ArrayList<>();

  /**
   * Reads the rows of {@code diff-group: group=(src_ip, dst_ip)}.
   *
   * @param rows rows of one window
   */
  TierFinding(JsonNode rows, HostNames names) {
    for (JsonNode row : rows) {
      tiers.add(
          new Tier(
              names.of(row.path("key").path("src_ip").asText()),
              names.of(row.path("key").path("dst_ip").asText()),
              row.path("value").asDouble(),
              row.path("distribution").path("count").asLong()));
    }
  }

  /** Returns the finding, in a sentence or two. */
  String sentence() {
    return slowest()
        .map(this::describe)
        .orElse("no server's connections take much longer than those of its replicas.");
  }

  /**
   * Returns the two replicas whose mean connection times from the same host differ most; empty if
   * none differ notably.
   */
  private Optional<TierContrast> slowest() {
    List<TierContrast> contrasts = new ArrayList<>();
    for (Tier slow : tiers) {
      for (Tier fast : tiers) {
        if (slow.from().equals(fast.from()) && alike(slow.to(), fast.to()) && fast.meanNs() > 0) {
          contrasts.add(new TierContrast(slow, fast, slow.meanNs() / fast.meanNs()));
        }
      }
    }
    return largest(contrasts);
  }

  private static Optional<TierContrast> largest(List<TierContrast> contrasts) {
    return contrasts.stream()
        .filter(contrast -> contrast.ratio() >= NOTABLE_RATIO)
        .max(Comparator.comparingDouble(TierContrast::ratio));
  }

  private static boolean alike(String a, String b) {
    return !a.equals(b) && stem(a).equals(stem(b)) && !stem(a).equals(a);
  }

  private static String stem(String name) {
    return name.replaceFirst("\\d+$", "");
  }

  private String describe(TierContrast slow) {
    String first =
        String.format(
            Locale.ROOT,
            "connections from %s to %s take %.1f times as long as those to %s (mean %.2f ms versus %.2f ms).",
            slow.more().from(),
            slow.more().to(),
            slow.ratio(),
            slow.less().to(),
            slow.more().meanNs() / NS_PER_MS,
            slow.less().meanNs() / NS_PER_MS);
    return busiest(slow.more().to(), slow.less().to())
        .map(more -> first + " " + describeBehind(more))
        .orElse(first);
  }

  /**
   * Returns the server to which the slow server connects much more often than its replica does;
   * empty if there is none.
   */
  private Optional<TierContrast> busiest(String slow, String fast) {
    List<TierContrast> contrasts = new ArrayList<>();
    for (Tier tier : tiers) {
      for (Tier otherTier : tiers) {
        boolean sameTarget = tier.to().equals(otherTier.to());
        if (tier.from().equals(slow)
            && otherTier.from().equals(fast)
            && sameTarget
            && otherTier.count() > 0) {
          contrasts.add(
              new TierContrast(tier, otherTier, (double) tier.count() / otherTier.count()));
        }
      }
    }
    return largest(contrasts);
  }

  private static String describeBehind(TierContrast furtherContrast) {
    return String.format(
        Locale.ROOT,
        "It connects to %s %.1f times as often as %s does (%,d connections versus %,d; mean %.2f ms versus %.2f ms): look at how %s is configured.",
        furtherContrast.more().to(),
        furtherContrast.ratio(),
        furtherContrast.less().from(),
        furtherContrast.more().count(),
        furtherContrast.less().count(),
        furtherContrast.more().meanNs() / NS_PER_MS,
        furtherContrast.less().meanNs() / NS_PER_MS,
        furtherContrast.more().from());
  }

  /**
   * Returns the finding: {@code {"finding":"…","server":"app1","peer":"app2","ratio":4.1}}; only
   * the sentence if there is no difference.
   */
  ObjectNode json() {
    ObjectNode json = JsonNodeFactory.instance.objectNode().put("finding", sentence());
    slowest()
        .ifPresent(
            slow ->
                json.put("server", slow.more().to())
                    .put("peer", slow.less().to())
                    .put("ratio", slow.ratio()));
    return json;
  }
}
