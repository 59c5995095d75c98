package io.tapline.control.diagnose;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class QueueDiagnosisTest {
  private static final long MS = 1_000_000;
  private static final long BEGIN = 1_795_827_145_700L * MS;

  private final QueueDiagnosis diagnosis = measured("q1", 0, 0, FlowUnit.FIVE_TUPLE);

  private static QueueDiagnosis measured(String query, long fromNs, long toNs, FlowUnit unit) {
    QueueDiagnosis diagnosis = new QueueDiagnosis("s1:2", fromNs, toNs);
    diagnosis.addQuery(query, unit);
    return diagnosis;
  }

  /** Returns an event for a burst that lasted 10 ms. */
  private static ObjectNode event(long beginNs, String client, String server, double share) {
    ObjectNode event = new ObjectMapper().createObjectNode().put("parser", "queue_burst");
    event.put("src_ip", client).put("src_port", 4000).put("dst_ip", server).put("dst_port", 80);
    event
        .putObject("fields")
        .put("queue", "s1:2")
        .put("from_client", true)
        .put("begin_ns", beginNs)
        .put("duration_ns", 10 * MS)
        .put("delay_ns", 8 * MS)
        .put("peak_bytes", 30_000)
        .put("burst_packets", 40)
        .put("burst_bytes", 60_000)
        .put("victims", 25)
        .put("burst_flows", 7)
        .put("lost", 18)
        .put("share", share)
        .put("direct_bytes", 1000)
        .put("indirect_bytes", 200)
        .put("original_bytes", 900)
        .put("blamed_ns", 7 * MS);
    return event;
  }

  @Test
  void aFlowThatFilledTheQueueIsNamed() {
    diagnosis.add("q1", event(BEGIN, "10.0.0.1", "10.0.0.9", 0.2));
    diagnosis.add("q1", event(BEGIN, "10.0.0.2", "10.0.0.9", 0.77));
    QueueReport report = diagnosis.report();
    assertThat(report.queries()).containsExactly("q1");
    assertThat(report.bursts()).hasSize(1);
    QueueReport.Burst burst = report.bursts().get(0);
    assertThat(burst.endNs() - burst.beginNs()).isEqualTo(10 * MS);
    assertThat(burst.victims()).isEqualTo(25);
    assertThat(burst.culprits())
        .extracting(QueueReport.Culprit::source)
        .containsExactly("10.0.0.2:4000", "10.0.0.1:4000");
    assertThat(burst.culprits().get(0).blamedNs()).isEqualTo(7 * MS);
    assertThat(report.verdict())
        .containsExactly(
            "1 burst at s1:2: packets waited up to 8.00 ms, 25 packets at least as long as the queries' delay",
            "in the worst burst, at 2026-11-28T00:52:25.700 UTC, one flow filled the queue: 10.0.0.2:4000 > 10.0.0.9:80 had 77 % of the bytes ahead of waiting packets",
            "18 packets arrived but did not leave: dropped by the queue, sent to another port, or not captured");
  }

  @Test
  void manySendersToOneReceiverAreAnIncast() {
    for (int sender = 1; sender <= 4; sender++) {
      diagnosis.add("q1", event(BEGIN, "10.0.0." + sender, "10.0.0.9", 0.2));
    }
    assertThat(diagnosis.report().verdict().get(1))
        .endsWith(
            "4 flows to 10.0.0.9 filled the queue together (incast): 80 % of the bytes ahead of waiting packets");
  }

  @Test
  void anIncastHasNoSmallFlows() {
    for (int sender = 1; sender <= 5; sender++) {
      diagnosis.add("q1", event(BEGIN, "10.0.0." + sender, "10.0.0.9", 0.18));
    }
    for (int sender = 6; sender <= 8; sender++) {
      diagnosis.add("q1", event(BEGIN, "10.0.0." + sender, "10.0.0.9", 0.001));
    }
    assertThat(diagnosis.report().verdict().get(1))
        .endsWith(
            "5 flows to 10.0.0.9 filled the queue together (incast): 90 % of the bytes ahead of waiting packets");
  }

  @Test
  void manyFlowsToManyReceiversExceedTheRate() {
    for (int flow = 1; flow <= 4; flow++) {
      diagnosis.add("q1", event(BEGIN, "10.0.0." + flow, "10.0.1." + flow, 0.1));
    }
    assertThat(diagnosis.report().verdict().get(1))
        .endsWith(
            "7 flows shared the queue, none with more than 10 %: together they exceeded the port's rate");
  }

  @Test
  void fewFlowsToSeveralReceiversAreAllNamed() {
    for (int flow = 1; flow <= 5; flow++) {
      diagnosis.add("q1", event(BEGIN, "10.0.0." + flow, "10.0.1." + flow, 0.18));
    }
    assertThat(diagnosis.report().verdict().get(1))
        .contains("5 flows filled the queue together, with 90 % of the bytes")
        .contains("10.0.0.1:4000 > 10.0.1.1:80 (18 %)", "10.0.0.5:4000 > 10.0.1.5:80 (18 %)");
  }

  /** Returns an event for a flow whose packets were delayed. */
  private static ObjectNode waited(String client, double share, long packets, long waitedMs) {
    ObjectNode event = event(BEGIN, client, "10.0.0.9", share);
    event
        .withObject("/fields")
        .put("flow_victims", packets)
        .put("flow_delay_ns", 7 * MS)
        .put("waited_ns", waitedMs * MS);
    return event;
  }

  @Test
  void flowsThatWaitedWithoutFillingTheQueueAreItsVictims() {
    diagnosis.add("q1", waited("10.0.0.1", 0.9, 20, 150));
    diagnosis.add("q1", waited("10.0.0.2", 0.05, 9, 60));
    diagnosis.add("q1", waited("10.0.0.3", 0.01, 1, 7));
    diagnosis.add("q1", waited("10.0.0.4", 0, 2, 14));
    diagnosis.add("q1", waited("10.0.0.5", 0.01, 0, 1));
    QueueReport report = diagnosis.report();
    assertThat(report.bursts().get(0).victimFlows())
        .containsExactly(
            new QueueReport.Victim("10.0.0.4:4000", "10.0.0.9:80", 2, 7 * MS, 14 * MS),
            new QueueReport.Victim("10.0.0.3:4000", "10.0.0.9:80", 1, 7 * MS, 7 * MS));
    assertThat(report.verdict().get(2))
        .isEqualTo(
            "this delayed flows that each had less than 5 % of the queue: 10.0.0.4:4000 > 10.0.0.9:80 waited longest (2 packets, up to 7.00 ms), and at least 1 other");
  }

  @Test
  void theFilterSelectsThePacketsOfCulpritsAndVictims() {
    ObjectNode response = waited("2001:db8::1", 0.9, 20, 150);
    response.put("dst_ip", "2001:db8::9").withObject("/fields").put("from_client", false);
    diagnosis.add("q1", response);
    diagnosis.add("q1", waited("10.0.0.3", 0.01, 1, 7));
    diagnosis.add("q1", waited("10.0.0.5", 0.01, 0, 1));
    assertThat(diagnosis.report().bursts().get(0).filter())
        .isEqualTo(
            "(src_ip6 == 2001:db8::9 && src_port == 80 && dst_ip6 == 2001:db8::1 && dst_port == 4000)"
                + " || (src_ip == 10.0.0.3 && src_port == 4000 && dst_ip == 10.0.0.9 && dst_port == 80)");
  }

  @Test
  void onlyEightCulpritsAreReported() {
    for (int flow = 1; flow <= 16; flow++) {
      diagnosis.add("q1", event(BEGIN, "10.0.0." + flow, "10.0.1." + flow, 0.01 * flow));
    }
    assertThat(diagnosis.report().bursts().get(0).culprits())
        .extracting(QueueReport.Culprit::source)
        .startsWith("10.0.0.16:4000")
        .hasSize(8);
  }

  @Test
  void packetsOfServersGoToTheClient() {
    ObjectNode event = event(BEGIN, "2001:db8::1", "10.0.0.9", 1);
    event.withObject("/fields").put("from_client", false);
    diagnosis.add("q1", event);
    QueueReport.Culprit culprit = diagnosis.report().bursts().get(0).culprits().get(0);
    assertThat(culprit.source()).isEqualTo("10.0.0.9:80");
    assertThat(culprit.destination()).isEqualTo("[2001:db8::1]:4000");
    assertThat(culprit.receiver()).isEqualTo("[2001:db8::1]");
  }

  @Test
  void pairsOfAddressesHaveNoPorts() {
    QueueDiagnosis pairs = measured("q1", 0, 0, FlowUnit.PAIR);
    pairs.add("q1", event(BEGIN, "10.0.0.1", "10.0.0.9", 0.3));
    pairs.add("q1", event(BEGIN, "2001:db8::1", "2001:db8::9", 0.2));
    pairs.add("q1", event(BEGIN, "10.0.0.2", "10.0.0.9", 0.3));
    QueueReport report = pairs.report();
    QueueReport.Burst burst = report.bursts().get(0);
    assertThat(burst.culprits().get(0).source()).isEqualTo("10.0.0.1");
    assertThat(burst.culprits().get(2).receiver()).isEqualTo("[2001:db8::9]");
    assertThat(burst.filter())
        .isEqualTo(
            "(src_ip == 10.0.0.1 && dst_ip == 10.0.0.9)"
                + " || (src_ip == 10.0.0.2 && dst_ip == 10.0.0.9)"
                + " || (src_ip6 == 2001:db8::1 && dst_ip6 == 2001:db8::9)");
    assertThat(report.verdict().get(1))
        .contains("2 flows to 10.0.0.9 filled the queue together (incast): 60 %");
  }

  @Test
  void aDestinationStandsForAllItsSenders() {
    QueueDiagnosis destinations = measured("q1", 0, 0, FlowUnit.DESTINATION);
    destinations.add("q1", event(BEGIN, "10.0.0.1", "10.0.0.9", 0.97));
    ObjectNode response = event(BEGIN, "10.0.0.7", "10.0.0.9", 0.03);
    response.withObject("/fields").put("from_client", false).put("flow_victims", 2);
    destinations.add("q1", response);
    QueueReport report = destinations.report();
    QueueReport.Burst burst = report.bursts().get(0);
    assertThat(burst.culprits().get(0).source()).isEqualTo("*");
    assertThat(burst.culprits().get(0).destination()).isEqualTo("10.0.0.9");
    assertThat(burst.filter()).isEqualTo("(dst_ip == 10.0.0.9) || (dst_ip == 10.0.0.7)");
    assertThat(report.verdict().get(1))
        .endsWith(
            "packets from all senders to 10.0.0.9 filled the queue: they had 97 % of the bytes ahead of waiting packets");
    assertThat(report.verdict().get(2)).contains("* > 10.0.0.7 waited longest");
  }

  @Test
  void aBurstMeasuredTwiceIsReportedOnce() {
    diagnosis.add("q1", event(BEGIN, "10.0.0.1", "10.0.0.9", 1));
    ObjectNode furtherNode = event(BEGIN, "10.0.0.2", "10.0.0.9", 1);
    furtherNode.withObject("/fields").put("victims", 30);
    diagnosis.addQuery("q2", FlowUnit.FIVE_TUPLE);
    diagnosis.add("q2", furtherNode);
    assertThat(diagnosis.report().bursts()).hasSize(1);
    assertThat(diagnosis.report().bursts().get(0).victims()).isEqualTo(30);
  }

  @Test
  void burstsOutsideTheTimeSpanAreLeftOut() {
    QueueDiagnosis narrow = measured("q1", BEGIN + 50 * MS, BEGIN + 60 * MS, FlowUnit.FIVE_TUPLE);
    for (long ms : new long[] {0, 39, 40, 60, 61}) {
      narrow.add("q1", event(BEGIN + ms * MS, "10.0.0.1", "10.0.0.9", 1));
    }
    assertThat(narrow.report().bursts())
        .extracting(burst -> (burst.beginNs() - BEGIN) / MS)
        .containsExactly(40L, 60L);
  }

  @Test
  void explainsWhyThereAreNoBursts() {
    assertThat(diagnosis.report().verdict())
        .containsExactly("no burst at s1:2: no packet waited as long as the queries' delay");
  }

  @Test
  void onlyTheLatestBurstsAreKept() {
    for (int i = 0; i < QueueDiagnosis.MAX_BURSTS + 5; i++) {
      diagnosis.add("q1", event(BEGIN + i * 20 * MS, "10.0.0.1", "10.0.0.9", 1));
    }
    QueueReport report = diagnosis.report();
    assertThat(report.incomplete()).isTrue();
    assertThat(report.bursts()).hasSize(QueueDiagnosis.MAX_BURSTS);
    assertThat(report.bursts().get(0).beginNs()).isEqualTo(BEGIN + 100 * MS);
    assertThat(report.verdict().get(0)).startsWith("1,000 bursts at s1:2");
  }

  @Test
  void missingFieldsAreZero() {
    diagnosis.add("q1", new ObjectMapper().createObjectNode());
    assertThat(diagnosis.report().bursts()).hasSize(1);
  }
}
