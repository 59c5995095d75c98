package io.tapline.schema;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.tapline.schema.proto.Plan;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Converts plans to and from JSON that follows plan.schema.json, with the field names of
 * plan.proto.
 */
public final class Plans {
  private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u00(3d|3c|3e|26|27)|.)");

  private Plans() {}

  /** Returns multi-line JSON without a final line feed. Omits fields with default values. */
  public static String toJson(Plan plan) {
    try {
      return readable(JsonFormat.printer().preservingProtoFieldNames().print(plan));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the plan has a duration that is out of range", e);
    }
  }

  /** Undoes the printer's HTML-safe escaping; the JSON stays equivalent. */
  private static String readable(String json) {
    return ESCAPE
        .matcher(json)
        .replaceAll(
            escape -> {
              String code = escape.group(1);
              String text =
                  code == null ? escape.group() : Character.toString(Integer.parseInt(code, 16));
              return Matcher.quoteReplacement(text);
            });
  }

  /**
   * Reads a plan.
   *
   * @throws IllegalArgumentException if the text is not JSON or has a field that plans do not have
   */
  public static Plan fromJson(String json) {
    Plan.Builder plan = Plan.newBuilder();
    try {
      JsonFormat.parser().merge(json, plan);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("not a plan: " + e.getMessage(), e);
    }
    return plan.build();
  }
}
