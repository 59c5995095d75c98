package io.tapline.control.rest.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;

/** Reads query parameters. */
public final class Parameters {
  private Parameters() {}

  /** Returns the JSON Schema of a time. */
  public static ObjectNode time() {
    return Json.object().put("type", "integer").put("minimum", 0);
  }

  /** Returns a time in nanoseconds since the epoch; 0 if the parameter is absent. */
  public static long timeNs(Context ctx, String name) {
    String text = ctx.queryParam(name);
    if (text == null) {
      return 0;
    }
    if (!text.matches("\\d{1,18}|[1-8]\\d{18}")) {
      throw Problem.badRequest(
              "%s=%s: it must be a time in nanoseconds since the epoch".formatted(name, text))
          .asException();
    }
    return Long.parseLong(text);
  }

  /** Returns a number from 1 to {@code max}; {@code missing} if the parameter is absent. */
  public static int count(Context ctx, String name, int missing, int max) {
    String text = ctx.queryParam(name);
    if (text == null) {
      return missing;
    }
    if (!text.matches("[1-9]\\d{0,8}") || Integer.parseInt(text) > max) {
      throw Problem.badRequest("%s=%s: it must be a number from 1 to %d".formatted(name, text, max))
          .asException();
    }
    return Integer.parseInt(text);
  }
}
