package io.tapline.control.watches;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.control.drill.DrillAggregate;
import io.tapline.control.drill.HeaderFilter;
import io.tapline.control.drill.WatchRun;
import io.tapline.control.drill.WatchSpec;
import io.tapline.schema.rpc.NodeAlert;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests queries that evaluate watches, and alerts made from the events of their triggers. */
class TriggerAlertsTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static WatchSpec watch(String filter, String... groupBy) throws Exception {
    return new WatchSpec(
        HeaderFilter.ofText(filter),
        DrillAggregate.parse("COUNT", List.of(groupBy)),
        "burst(bytes, 100us) > 5KB",
        10_000_000,
        10_000_000,
        "critical",
        List.of(),
        false,
        new WatchRun(true, "requested"));
  }

  private static List<NodeAlert> alerts(WatchSpec watch, String fields) throws Exception {
    List<NodeAlert> alerts = new ArrayList<>();
    TriggerAlerts taken =
        new TriggerAlerts("watch_7", watch, (alert, id, monitor, replayed) -> alerts.add(alert));
    String event = "{'parser': '%s', 'made_ns': 99, 'fields': {%s}}";
    for (String parser : List.of("trigger", "http_get")) {
      taken.take(
          MAPPER.readTree(event.formatted(parser, fields).replace('\'', '"')), "id", "m", false);
    }
    return alerts;
  }

  @Test
  void aWatchIsAQueryWithATrigger() throws Exception {
    assertThat(MonitorQuery.text(watch("dst_port == 80", "src_ip/24", "dst_port")))
        .isEqualTo(
            "PARSE packets FROM * TO * SAMPLE * PROCESS (trigger:"
                + " when=\"burst(bytes, 100us) > 5KB\", group=(src_ip/24, dst_port),"
                + " only=\"dst_port == 80\", every=10ms, severity=critical)");
    assertThat(MonitorQuery.text(watch(""))).doesNotContain("group", "only");
  }

  @Test
  void anEventIsAnAlert() throws Exception {
    String fields =
        "'trigger': 0, 'scope': 'group', 'group': 'dst_port=80', 'value': 6000.0, 'low': 6000.0,"
            + " 'high': 6000.0, 'certain': true, 'incomplete': false, 'lost_packets': 0,"
            + " 'window_start_ns': 10, 'window_end_ns': 20, 'ready_ns': 15,"
            + " 'exemplars': '10.1.2.3:5-10.1.2.4:80/tcp 10.1.2.5:6-10.1.2.4:80/tcp'";
    NodeAlert alert = alerts(watch("", "dst_port"), fields).get(0);
    assertThat(alerts(watch("", "dst_port"), fields)).hasSize(1);
    assertThat(alert.getTrigger()).isEqualTo("watch_7");
    assertThat(alert.getSeverity()).isEqualTo("critical");
    assertThat(alert.getGroupList()).containsExactly("80");
    assertThat(alert.getValues(0).getWhole()).isEqualTo(6000);
    assertThat(alert.getWindowBeginNs()).isEqualTo(10);
    assertThat(alert.getWindowEndNs()).isEqualTo(20);
    assertThat(alert.getFoundNs()).isEqualTo(99);
    assertThat(alert.getReadyNs()).isEqualTo(15);
    assertThat(alert.getScope()).isEqualTo("group");
    assertThat(alert.getUncertain()).isFalse();
    assertThat(alert.getIncomplete()).isFalse();
    assertThat(alert.hasLostPackets()).isTrue();
    assertThat(alert.getLow()).isEqualTo(6000);
    assertThat(alert.getHigh()).isEqualTo(6000);
    assertThat(alert.getExemplarsList())
        .containsExactly("10.1.2.3:5-10.1.2.4:80/tcp", "10.1.2.5:6-10.1.2.4:80/tcp");
  }

  @Test
  void anUncertainEventIsAnUncertainAlert() throws Exception {
    String rest =
        "'scope': 'rest', 'group': null, 'value': null, 'low': 0.5, 'high': null,"
            + " 'certain': false, 'incomplete': true, 'lost_packets': 7";
    NodeAlert alert = alerts(watch("", "dst_port"), rest).get(0);
    assertThat(alert.getScope()).isEqualTo("rest");
    assertThat(alert.getUncertain()).isTrue();
    assertThat(alert.getIncomplete()).isTrue();
    assertThat(alert.getLostPackets()).isEqualTo(7);
    assertThat(alert.getValuesList()).isEmpty();
    assertThat(alert.getLow()).isEqualTo(0.5);
    assertThat(alert.hasHigh()).isFalse();
    assertThat(alert.getGroupList()).isEmpty();
    assertThat(alert.getExemplarsList()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "src_ip/24 | src_ip=10.1.2.0/24 | 10.1.2.0/24",
        "dst_port | src_ip=10.1.2.3 dst_port=80 | 80",
        "flow | src_ip=10.1.2.3 src_port=5 dst_ip=10.1.2.4 dst_port=80 |"
            + " src_ip=10.1.2.3 src_port=5 dst_ip=10.1.2.4 dst_port=80",
      })
  void groupsHaveTheWatchsWords(String word, String group, String value) throws Exception {
    NodeAlert alert = alerts(watch("", word), "'group': '%s'".formatted(group)).get(0);
    assertThat(alert.getGroupList()).containsExactly(value);
    assertThat(alert.getValuesList()).isEmpty();
  }
}
