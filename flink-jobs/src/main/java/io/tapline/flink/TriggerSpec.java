package io.tapline.flink;

import com.google.protobuf.util.Durations;
import io.tapline.schema.proto.Action;
import io.tapline.schema.proto.Trigger;
import java.io.Serializable;
import java.net.URI;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The conditions under which an alert begins and ends, and the actions that it triggers.
 *
 * @param clear threshold that replaces the condition's once an alert has begun
 * @param after number of consecutive windows that must meet the condition before an alert begins
 * @param cooldownNs minimum time between the beginnings of two alerts of the same group
 * @param webhooks webhooks to which alerts are posted
 * @param topics Kafka topics to which alerts are sent
 */
public record TriggerSpec(
    double clear,
    int after,
    long cooldownNs,
    String severity,
    List<Webhook> webhooks,
    List<String> topics)
    implements Serializable {

  /**
   * A webhook to which alerts are posted.
   *
   * @param privateAddresses whether the webhook's host may have addresses that are not public
   */
  public record Webhook(String url, boolean privateAddresses) implements Serializable {}

  private static final Set<String> SEVERITIES = Set.of("info", "warning", "critical");
  private static final Pattern TOPIC = Pattern.compile("[a-zA-Z0-9._-]{1,249}");

  static TriggerSpec of(Trigger trigger) {
    check(SEVERITIES.contains(trigger.getSeverity()), "severity '" + trigger.getSeverity() + "'");
    List<Webhook> webhooks =
        trigger.getActionsList().stream()
            .filter(action -> !action.getWebhook().isEmpty())
            .map(action -> new Webhook(action.getWebhook(), action.getPrivateAddresses()))
            .toList();
    List<String> topics =
        trigger.getActionsList().stream().map(Action::getTopic).filter(s -> !s.isEmpty()).toList();
    webhooks.forEach(one -> check(isHttp(one.url()), "webhook '" + one.url() + "'"));
    topics.forEach(topic -> check(TOPIC.matcher(topic).matches(), "topic '" + topic + "'"));
    return new TriggerSpec(
        trigger.getClear(),
        Math.max(1, trigger.getAfter()),
        Durations.toNanos(trigger.getCooldown()),
        trigger.getSeverity(),
        webhooks,
        topics);
  }

  private static boolean isHttp(String url) {
    try {
      URI uri = URI.create(url);
      return uri.getHost() != null
          && uri.getRawUserInfo() == null
          && ("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static void check(boolean condition, String requirement) {
    if (!condition) {
      throw new IllegalArgumentException("plan: a trigger has an invalid " + requirement);
    }
  }
}
