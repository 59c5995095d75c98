package io.tapline.compiler;

import com.google.protobuf.util.Durations;
import io.tapline.compiler.access.AlertTopicPolicy;
import io.tapline.compiler.access.WebhookPolicy;
import io.tapline.compiler.access.WebhookUrl;
import io.tapline.compiler.catalogue.ProcessorCatalogue;
import io.tapline.compiler.packets.TriggerCondition;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Literals;
import io.tapline.compiler.text.Names;
import io.tapline.compiler.text.QueryError;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Processor;
import io.tapline.schema.proto.Trigger;
import java.util.Optional;

/** Reads the arguments of a trigger other than its condition. */
final class TriggerReader {
  private final Inventory inventory;
  private final Compiler.Options options;
  private final Errors errors;

  TriggerReader(Inventory inventory, Compiler.Options options, Errors errors) {
    this.inventory = inventory;
    this.options = options;
    this.errors = errors;
  }

  /** Checks everything that does not depend on the inventory. */
  static void checkForms(Arguments arguments, Errors errors) {
    values(arguments, 0, errors);
    arguments.word("webhook").ifPresent(word -> url(word, errors));
    arguments.word("topic").ifPresent(word -> isTopic(word, errors));
  }

  /** Reads when the trigger fires, how it clears, and the destinations of its alerts. */
  Trigger.Builder read(Arguments arguments, Processor.Builder watched) {
    Trigger.Builder trigger = values(arguments, watched.getCondition().getThreshold(), errors);
    arguments.word("webhook").flatMap(this::webhook).ifPresent(trigger::addActions);
    arguments.word("topic").flatMap(this::topic).ifPresent(trigger::addActions);
    return trigger;
  }

  /**
   * Reads when the trigger fires and how it clears.
   *
   * @param threshold threshold of the condition, which also ends an alert unless {@code clear=} is
   *     given
   */
  private static Trigger.Builder values(Arguments arguments, double threshold, Errors errors) {
    Trigger.Builder trigger =
        Trigger.newBuilder()
            .setClear(threshold)
            .setAfter(arguments.integer("after", 1, ProcessorCatalogue.MAX_AFTER, 1))
            .setSeverity(
                arguments.choice("severity", ProcessorCatalogue.SEVERITIES).orElse("warning"));
    arguments
        .windowNs("cooldown", ProcessorCatalogue.SHORTEST_PACKET_WINDOW_NS)
        .map(Durations::fromNanos)
        .ifPresent(trigger::setCooldown);
    arguments
        .word("clear")
        .ifPresent(
            word ->
                Literals.threshold(word.text())
                    .ifPresentOrElse(trigger::setClear, () -> requireCondition(word, errors)));
    return trigger;
  }

  private static void requireCondition(Ast.Word clear, Errors errors) {
    if (!TriggerCondition.isPossible(clear)) {
      errors.type(
          clear.span(),
          "clear= is neither a threshold nor a condition: " + Names.quoted(clear.text()),
          "a number, size or duration, for example 5MB, or a condition that ends the alert");
    }
  }

  private static Optional<WebhookUrl> url(Ast.Word word, Errors errors) {
    try {
      return Optional.of(WebhookUrl.parse(word.text()));
    } catch (IllegalArgumentException e) {
      String message =
          "webhook can't be %s: %s".formatted(Names.quoted(word.text()), e.getMessage());
      errors.type(word.span(), message, "an http or https URL");
      return Optional.empty();
    }
  }

  private static boolean isTopic(Ast.Word word, Errors errors) {
    boolean is = word.text().matches(AlertTopicPolicy.NAME);
    if (!is) {
      String message = "topic can't be %s".formatted(Names.quoted(word.text()));
      errors.type(word.span(), message, "letters, digits, '.', '_' and '-'");
    }
    return is;
  }

  /**
   * Returns an action with the normalized URL if the inventory allows alerts to be posted to it;
   * otherwise reports an error.
   */
  private Optional<Action> webhook(Ast.Word word) {
    return url(word, errors).flatMap(url -> allowed(url, word));
  }

  private Optional<Action> allowed(WebhookUrl url, Ast.Word word) {
    Optional<WebhookPolicy.Entry> entry = inventory.webhooks().entry(url);
    if (entry.isEmpty()) {
      String message = "alerts may not be posted to %s".formatted(Names.quoted(url.toString()));
      String expected = inventory.webhooks().expected();
      errors.add(word.span(), QueryError.Code.FORBIDDEN, message, expected, "");
    }
    return entry.map(
        allowed ->
            Action.newBuilder()
                .setWebhook(url.toString())
                .setPrivateAddresses(allowed.isPrivate())
                .build());
  }

  /**
   * Returns an action with the topic if the tenant may send to it and it is not known to be
   * missing; otherwise reports an error.
   */
  private Optional<Action> topic(Ast.Word word) {
    String topic = word.text();
    if (!isTopic(word, errors)) {
      return Optional.empty();
    } else if (!inventory.topics().allows(options.rights(), topic)) {
      String message = "alerts may not be sent to topic %s".formatted(Names.quoted(topic));
      String expected = inventory.topics().expected(options.rights());
      errors.add(word.span(), QueryError.Code.FORBIDDEN, message, expected, "");
    } else if (options.missingTopics().contains(topic)) {
      String message = "there is no topic %s".formatted(Names.quoted(topic));
      String expected =
          "an existing topic; a Kafka administrator can create this one: kafka-topics.sh --create --topic "
              + topic;
      errors.add(word.span(), QueryError.Code.UNKNOWN_NAME, message, expected, "");
    } else {
      return Optional.of(Action.newBuilder().setTopic(topic).build());
    }
    return Optional.empty();
  }
}
