package io.tapline.control.testbed;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Draws the web shop's hosts, and on each line the mean duration of a connection between two of
 * them.
 */
final class ShopDrawing {
  private static final Map<String, int[]> PLACES = places();

  private final Map<String, Double> meansMs;

  /**
   * @param meansMs mean durations by {@code from,to}
   */
  ShopDrawing(Map<String, Double> meansMs) {
    this.meansMs = meansMs;
  }

  private static Map<String, int[]> places() {
    Map<String, int[]> places = new LinkedHashMap<>();
    places.put("client", new int[] {70, 150});
    places.put("proxy", new int[] {230, 150});
    places.put("app1", new int[] {430, 70});
    places.put("app2", new int[] {430, 230});
    places.put("db", new int[] {680, 70});
    places.put("cache", new int[] {680, 230});
    return places;
  }

  String svg() {
    StringBuilder svg =
        new StringBuilder(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="760" height="300" font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>
            <text x="380" y="20" text-anchor="middle">Mean connection time, ms (Figure 9)</text>
            """);
    Map<String, Double> drawn = new LinkedHashMap<>(meansMs);
    drawn.keySet().removeIf(tier -> !PLACES.keySet().containsAll(List.of(tier.split(","))));
    drawn.keySet().forEach(tier -> line(svg, tier.split(",")));
    drawn.forEach((tier, mean) -> number(svg, tier.split(","), mean));
    PLACES.forEach(
        (name, at) ->
            svg.append(
                format(
                    "<circle cx=\"%d\" cy=\"%d\" r=\"26\" fill=\"#eeeeee\" stroke=\"black\"/>\n"
                        + "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                    at[0], at[1], at[0], at[1] + 4, name)));
    return svg.append("</svg>\n").toString();
  }

  private static void line(StringBuilder svg, String[] ends) {
    int[] from = PLACES.get(ends[0]);
    int[] to = PLACES.get(ends[1]);
    svg.append(
        format("<path d=\"M%d %d L%d %d\" stroke=\"black\"/>\n", from[0], from[1], to[0], to[1]));
  }

  /**
   * Draws a number near the caller, since lines cross in the middle; draws it first in white as a
   * halo.
   */
  private static void number(StringBuilder svg, String[] ends, double mean) {
    int[] from = PLACES.get(ends[0]);
    int[] to = PLACES.get(ends[1]);
    for (String around : List.of(" stroke=\"white\" stroke-width=\"6\"", "")) {
      svg.append(
          format(
              "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\"%s>%.2f</text>\n",
              from[0] + 0.4 * (to[0] - from[0]),
              from[1] + 0.4 * (to[1] - from[1]) + 4,
              around,
              mean));
    }
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
