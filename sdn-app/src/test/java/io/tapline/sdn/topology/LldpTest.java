package io.tapline.sdn.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LldpTest {
  private static final SwitchPort PORT = new SwitchPort(0xfedc_ba98_7654_3210L, 70_000);
  private final Lldp lldp = new Lldp(new byte[] {1, 2, 3});

  @Test
  void namesTheSendingPort() {
    Lldp.Announcement announcement = lldp.read(lldp.frame(PORT, 77));
    assertThat(announcement).isEqualTo(new Lldp.Announcement(Lldp.Kind.OURS, PORT, 77));
  }

  @Test
  void aFrameWithoutTheKeyIsForged() {
    byte[] frame = new Lldp(new byte[] {1, 2, 4}).frame(PORT, 77);
    assertThat(lldp.read(frame).kind()).isEqualTo(Lldp.Kind.FORGED);
  }

  @Test
  void everyFlippedBitIsDetected() {
    byte[] frame = lldp.frame(PORT, 77);
    for (int bit = 14 * 8; bit < frame.length * 8; bit++) {
      byte[] changed = frame.clone();
      changed[bit / 8] ^= (byte) (1 << bit % 8);
      Lldp.Announcement announcement = lldp.read(changed);
      assertThat(announcement.kind() != Lldp.Kind.OURS || announcement.from().equals(PORT))
          .isTrue();
    }
  }

  @Test
  void arbitraryBytesAreHandled() {
    byte[] frame = lldp.frame(PORT, 77);
    Random random = new Random(1);
    for (int i = 0; i < 5000; i++) {
      byte[] cut = Arrays.copyOf(frame, random.nextInt(frame.length + 20));
      for (int j = random.nextInt(4); j > 0 && cut.length > 14; j--) {
        cut[14 + random.nextInt(cut.length - 14)] = (byte) random.nextInt();
      }
      Lldp.Announcement announcement = lldp.read(cut);
      assertThat(announcement.kind() != Lldp.Kind.OURS || announcement.from().equals(PORT))
          .isTrue();
      Arp.read(cut);
    }
  }

  @Test
  void arpIsDecodedUnchanged() {
    Arp request = Arp.request(0x02_0000_0001L, 0x0a000001, 0x0a000002);
    assertThat(Arp.read(request.frame())).contains(request);
    Arp reply = request.answeredBy(0x02_0000_0002L);
    assertThat(Arp.read(reply.frame())).contains(reply);
    assertThat(reply.senderIp()).isEqualTo(0x0a000002);
    assertThat(Arp.read(Arrays.copyOf(reply.frame(), 41))).isEmpty();
  }
}
