package io.tapline.compiler;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Forms;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Sampling;
import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;

/**
 * Reads SAMPLE: a sampling rate of flows, auto (also if the clause is missing), or {@code *} for
 * every flow.
 */
final class SampleReader {
  /**
   * Minimum rate. Monitors compare 63 bits of a flow's hash with a threshold, so they could
   * distinguish even smaller rates.
   */
  private static final BigDecimal MIN_RATE = new BigDecimal("0.000000001");

  private SampleReader() {}

  static Sampling read(Ast.Word word, Errors errors) {
    if (isAuto(word)) {
      String sample = word == null ? "without SAMPLE, the rate is auto: it" : "SAMPLE auto";
      errors.note(
          sample + " keeps every flow (rate 1.0), or fewer while tuples can't be sent fast enough");
      return Sampling.newBuilder().setMode(Sampling.Mode.AUTO).setRate(1).build();
    }
    if (word.text().equals("*")) {
      return Sampling.newBuilder().setMode(Sampling.Mode.OFF).setRate(1).build();
    }
    return fixed(word, errors);
  }

  /** Returns true for {@code SAMPLE auto}, and for null, which stands for a missing clause. */
  static boolean isAuto(Ast.Word word) {
    return word == null || Names.same(word.text(), "auto");
  }

  private static Sampling fixed(Ast.Word word, Errors errors) {
    Optional<BigDecimal> rate = Literals.number(word.text());
    if (rate.isEmpty()) {
      String message = "%s is not a sampling rate".formatted(Names.quoted(word.text()));
      errors.add(
          word.span(),
          QueryError.Code.TYPE,
          message,
          Forms.SAMPLE,
          Names.nearest(word.text(), List.of("auto")));
      return Sampling.getDefaultInstance();
    }
    if (rate.get().compareTo(MIN_RATE) < 0 || rate.get().compareTo(BigDecimal.ONE) > 0) {
      String message = "SAMPLE %s is out of range".formatted(word.text());
      errors.range(
          word.span(),
          message,
          "a share of flows from %s to 1".formatted(MIN_RATE.toPlainString()));
      return Sampling.getDefaultInstance();
    }
    return Sampling.newBuilder()
        .setMode(Sampling.Mode.FIXED)
        .setRate(rate.get().doubleValue())
        .build();
  }
}
