package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Trigger;
import java.util.Optional;

/** What a trigger has beyond the condition it watches. */
final class TriggerReader {
  private final WebhookPolicy webhooks;
  private final Errors errors;

  TriggerReader(WebhookPolicy webhooks, Errors errors) {
    this.webhooks = webhooks;
    this.errors = errors;
  }

  /** When it fires, how it clears, and whom it tells. */
  Trigger.Builder read(Arguments arguments, Processor.Builder watched) {
    Trigger.Builder trigger =
        Trigger.newBuilder()
            .setClear(watched.getCondition().getThreshold())
            .setAfter(arguments.integer("after", 1, ProcessorCatalogue.MOST_AFTER, 1))
            .setSeverity(
                arguments.choice("severity", ProcessorCatalogue.SEVERITIES).orElse("warning"));
    arguments.windowNs("cooldown").map(Durations::fromNanos).ifPresent(trigger::setCooldown);
    arguments
        .word("clear")
        .ifPresent(
            word ->
                ConditionReader.threshold(word.text())
                    .ifPresentOrElse(
                        trigger::setClear,
                        () ->
                            errors.type(
                                word.span(),
                                "clear is no threshold: " + Names.quoted(word.text()),
                                "a number, size or duration, for example 5MB")));
    action(arguments, "webhook", "https?://[^\\s/]+(/\\S*)?", "an http or https URL")
        .filter(url -> mayPostTo(url, arguments))
        .ifPresent(url -> trigger.addActions(Action.newBuilder().setWebhook(url)));
    action(arguments, "topic", "[a-zA-Z0-9._-]{1,249}", "letters, digits, '.', '_' and '-'")
        .ifPresent(topic -> trigger.addActions(Action.newBuilder().setTopic(topic)));
    return trigger;
  }

  private boolean mayPostTo(String url, Arguments arguments) {
    boolean allowed = webhooks.allows(url);
    if (!allowed) {
      Span span = arguments.word("webhook").orElseThrow().span();
      String message = "alerts may not be posted to %s".formatted(Names.quoted(url));
      String expected = "one of the inventory's webhooks: " + webhooks.expected();
      errors.add(span, QueryError.Code.FORBIDDEN, message, expected, "");
    }
    return allowed;
  }

  private Optional<String> action(
      Arguments arguments, String name, String pattern, String expected) {
    Optional<Ast.Word> word = arguments.word(name);
    if (word.isPresent() && !word.get().text().matches(pattern)) {
      String message = "%s can't be %s".formatted(name, Names.quoted(word.get().text()));
      errors.type(word.get().span(), message, expected);
      return Optional.empty();
    }
    return word.map(Ast.Word::text);
  }
}
