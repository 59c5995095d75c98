package io.tapline.control.cli;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** The web shop's hosts, and on each line how long a connection between two of them takes. */
final class ShopDrawing {
  private static final Map<String, int[]> PLACES = places();

  private final Map<String, Double> meansMs;

  /**
   * @param meansMs by {@code from,to}
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
    meansMs.forEach((tier, mean) -> line(svg, tier.split(","), mean));
    PLACES.forEach(
        (name, at) ->
            svg.append(
                format(
                    "<circle cx=\"%d\" cy=\"%d\" r=\"26\" fill=\"#eeeeee\" stroke=\"black\"/>\n"
                        + "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                    at[0], at[1], at[0], at[1] + 4, name)));
    return svg.append("</svg>\n").toString();
  }

  /** Numbers stand nearer to the caller: lines that cross do so in the middle. */
  private static void line(StringBuilder svg, String[] ends, double mean) {
    int[] from = PLACES.get(ends[0]);
    int[] to = PLACES.get(ends[1]);
    if (from == null || to == null) {
      return;
    }
    svg.append(
        format(
            "<path d=\"M%d %d L%d %d\" stroke=\"black\"/>\n"
                + "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\" stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\">%.2f</text>\n",
            from[0],
            from[1],
            to[0],
            to[1],
            from[0] + 0.4 * (to[0] - from[0]),
            from[1] + 0.4 * (to[1] - from[1]) + 4,
            mean));
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
