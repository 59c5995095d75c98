package io.tapline.control.testbed;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Draws the web shop's hosts. Each line between two hosts shows the mean duration of a connection.
 */
final class ShopDrawing {
  private static final Map<String, int[]> PLACES = places();

  private final Map<String, Double> meansMs;

  /**
   * Creates a drawing.
   *
   * @param meansMs mean durations by {@code from,to}, the names of two hosts
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
    Map<String, Double> times = new LinkedHashMap<>(meansMs);
    times.keySet().removeIf(tier -> !PLACES.keySet().containsAll(List.of(tier.split(","))));
    times.keySet().forEach(tier -> line(svg, tier.split(",")));
    times.forEach((tier, mean) -> number(svg, tier.split(","), mean));
    PLACES.forEach(
        (name, center) ->
            svg.append(
                format(
                    "<circle cx=\"%d\" cy=\"%d\" r=\"26\" fill=\"#eeeeee\" stroke=\"black\"/>\n"
                        + "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                    center[0], center[1], center[0], center[1] + 4, name)));
    return svg.append("</svg>\n").toString();
  }

  private static void line(StringBuilder svg, String[] ends) {
    int[] source = PLACES.get(ends[0]);
    int[] target = PLACES.get(ends[1]);
    svg.append(
        format(
            "<path d=\"M%d %d L%d %d\" stroke=\"black\"/>\n",
            source[0], source[1], target[0], target[1]));
  }

  /**
   * Draws a number near the line's source, since lines cross in the middle. It is drawn first in
   * white, as a halo.
   */
  private static void number(StringBuilder svg, String[] ends, double mean) {
    int[] source = PLACES.get(ends[0]);
    int[] target = PLACES.get(ends[1]);
    for (String around : List.of(" stroke=\"white\" stroke-width=\"6\"", "")) {
      svg.append(
          format(
              "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\"%s>%.2f</text>\n",
              source[0] + 0.4 * (target[0] - source[0]),
              source[1] + 0.4 * (target[1] - source[1]) + 4,
              around,
              mean));
    }
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
