package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Forms;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Limit;
import java.math.BigDecimal;
import java.util.Optional;

/**
 * Reads LIMIT: a duration or a number of packets. Without LIMIT, a query runs until it is stopped.
 */
final class LimitReader {
  private static final long MAX_PACKETS = 0xFFFF_FFFFL;
  private static final long LONGEST_HOURS = 365 * 24;
  private static final BigDecimal LONGEST_NS =
      BigDecimal.valueOf(LONGEST_HOURS * 3_600_000_000_000L);

  private LimitReader() {}

  static Limit read(Ast.Word word, Errors errors) {
    if (word == null) {
      errors.note("without LIMIT the query runs until it is stopped or its captures end");
      return Limit.getDefaultInstance();
    }
    Optional<Literals.Quantity> quantity = Literals.quantity(word.text());
    if (quantity.isPresent() && quantity.get().unit().equals("p")) {
      return packets(word, quantity.get().number(), errors);
    }
    Optional<BigDecimal> duration = Literals.durationNs(word.text());
    if (duration.isPresent()) {
      return duration(word, duration.get(), errors);
    }
    String suggestion =
        quantity.isPresent() && quantity.get().unit().isEmpty() ? word.text() + "s" : "";
    String message = "%s is not a limit".formatted(Names.quoted(word.text()));
    errors.add(word.span(), QueryError.Code.TYPE, message, Forms.LIMIT, suggestion);
    return Limit.getDefaultInstance();
  }

  private static Limit packets(Ast.Word word, BigDecimal number, Errors errors) {
    boolean isWhole = number.stripTrailingZeros().scale() <= 0;
    if (!isWhole || number.signum() <= 0 || number.compareTo(BigDecimal.valueOf(MAX_PACKETS)) > 0) {
      String message = "LIMIT %s is out of range".formatted(word.text());
      errors.range(word.span(), message, "1p to %dp, a whole number".formatted(MAX_PACKETS));
      return Limit.getDefaultInstance();
    }
    return Limit.newBuilder().setPackets((int) number.longValue()).build();
  }

  private static Limit duration(Ast.Word word, BigDecimal ns, Errors errors) {
    if (ns.compareTo(BigDecimal.valueOf(Literals.NS_PER_MS)) < 0 || ns.compareTo(LONGEST_NS) > 0) {
      String message = "LIMIT %s is out of range".formatted(word.text());
      errors.range(word.span(), message, "1ms to %dh".formatted(LONGEST_HOURS));
      return Limit.getDefaultInstance();
    }
    return Limit.newBuilder().setDuration(Durations.fromNanos(ns.longValue())).build();
  }
}
