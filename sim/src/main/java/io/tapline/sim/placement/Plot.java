package io.tapline.sim.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A line chart with error bars, in SVG. Not thread-safe. */
public final class Plot {
  private static final int WIDTH = 760;
  private static final int HEIGHT = 420;
  private static final int LEFT = 64;
  private static final int RIGHT = 250;
  private static final int TOP = 36;
  private static final int BOTTOM = 48;
  private static final int TICKS = 5;

  /** Colors of lines. Markers differ as well, which makes lines distinguishable without colors. */
  private static final String[] COLOURS = {"#d55e00", "#0072b2", "#009e73", "#cc79a7", "#7f6000"};

  /** A mean with half the width of its confidence interval. */
  public record Point(double x, double y, double halfWidth) {}

  private record Line(String name, List<Point> points, boolean dashed) {}

  private final String title;
  private final String xLabel;
  private final String yLabel;
  private final List<Line> lines = new ArrayList<>();

  public Plot(String title, String xLabel, String yLabel) {
    this.title = title;
    this.xLabel = xLabel;
    this.yLabel = yLabel;
  }

  /** Adds a line; its points are in order of x. */
  public Plot line(String name, List<Point> points, boolean dashed) {
    lines.add(new Line(name, List.copyOf(points), dashed));
    return this;
  }

  /** Returns the chart. */
  public String svg() {
    double xMax =
        lines.stream().flatMap(l -> l.points().stream()).mapToDouble(Point::x).max().orElse(1);
    double yMax =
        lines.stream()
            .flatMap(l -> l.points().stream())
            .mapToDouble(p -> p.y() + p.halfWidth())
            .max()
            .orElse(1);
    double xTop = ceiling(xMax);
    double yTop = ceiling(yMax);
    StringBuilder svg = new StringBuilder();
    svg.append(
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">
        <rect width="100%%" height="100%%" fill="white"/>
        """
            .formatted(WIDTH, HEIGHT));
    text(svg, (LEFT + WIDTH - RIGHT) / 2.0, 20, "middle", title);
    text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "middle", xLabel);
    svg.append("<g transform=\"rotate(-90 14 %d)\">".formatted(HEIGHT / 2));
    text(svg, 14, HEIGHT / 2.0, "middle", yLabel);
    svg.append("</g>\n");
    axes(svg, xTop, yTop);
    for (int i = 0; i < lines.size(); i++) {
      line(svg, lines.get(i), i, xTop, yTop);
    }
    return svg.append("</svg>\n").toString();
  }

  private static double ceiling(double value) {
    if (value <= 0) {
      return 1;
    }
    double power = Math.pow(10, Math.floor(Math.log10(value)));
    for (double step : new double[] {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10}) {
      if (step * power >= value) {
        return step * power;
      }
    }
    return 10 * power;
  }

  private static double x(double value, double top) {
    return LEFT + value / top * (WIDTH - LEFT - RIGHT);
  }

  private static double y(double value, double top) {
    return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
  }

  private static void axes(StringBuilder svg, double xTop, double yTop) {
    for (int i = 0; i <= TICKS; i++) {
      double xAt = x(xTop * i / TICKS, xTop);
      double yAt = y(yTop * i / TICKS, yTop);
      segment(svg, LEFT, yAt, WIDTH - RIGHT, yAt, "#dddddd", "");
      text(svg, xAt, HEIGHT - BOTTOM + 18, "middle", number(xTop * i / TICKS));
      text(svg, LEFT - 6, yAt + 4, "end", number(yTop * i / TICKS));
    }
    segment(svg, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "black", "");
    segment(svg, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "black", "");
  }

  private static void line(StringBuilder svg, Line line, int number, double xTop, double yTop) {
    String colour = COLOURS[number % COLOURS.length];
    String dash = line.dashed() ? " stroke-dasharray=\"5 3\"" : "";
    StringBuilder path = new StringBuilder();
    for (Point point : line.points()) {
      double xAt = x(point.x(), xTop);
      path.append(format("%s%.1f %.1f", path.isEmpty() ? "M" : " L", xAt, y(point.y(), yTop)));
      double low = y(Math.max(0, point.y() - point.halfWidth()), yTop);
      segment(svg, xAt, low, xAt, y(point.y() + point.halfWidth(), yTop), colour, "");
      marker(svg, xAt, y(point.y(), yTop), number, colour);
    }
    svg.append("<path d=\"%s\" fill=\"none\" stroke=\"%s\"%s/>\n".formatted(path, colour, dash));
    double legend = TOP + 10 + 20.0 * number;
    segment(svg, WIDTH - RIGHT + 14, legend, WIDTH - RIGHT + 40, legend, colour, dash);
    marker(svg, WIDTH - RIGHT + 27, legend, number, colour);
    text(svg, WIDTH - RIGHT + 46, legend + 4, "start", line.name());
  }

  private static void marker(StringBuilder svg, double x, double y, int number, String colour) {
    String shape =
        switch (number % 3) {
          case 0 -> format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"", x, y);
          case 1 -> format("<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"", x - 3, y - 3);
          default -> format("<path d=\"M%.1f %.1f l4 7 l-8 0 z\"", x, y - 4);
        };
    svg.append(shape).append(" fill=\"").append(colour).append("\"/>\n");
  }

  private static void segment(
      StringBuilder svg,
      double x1,
      double y1,
      double x2,
      double y2,
      String colour,
      String furtherText) {
    svg.append(
        format(
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"%s/>%n",
            x1, y1, x2, y2, colour, furtherText));
  }

  private static void text(StringBuilder svg, double x, double y, String anchor, String text) {
    String safe = text.replace("&", "&amp;").replace("<", "&lt;");
    svg.append(
        format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n", x, y, anchor, safe));
  }

  private static String number(double value) {
    String text = format("%.4g", value);
    return text.contains(".") && !text.contains("e")
        ? text.replaceAll("0+$", "").replaceAll("\\.$", "")
        : text;
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
