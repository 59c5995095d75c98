import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Sends the newest versions of requests with the Java client. The argument is the broker's address.
 */
public class Client {
  public static void main(String[] arguments) throws Exception {
    String text = "org.apache.kafka.common.serialization.String";
    Map<String, Object> common = Map.of("bootstrap.servers", arguments[0]);
    Properties producing = new Properties();
    producing.putAll(common);
    producing.putAll(Map.of("client.id", "java-shop", "key.serializer", text + "Serializer", "value.serializer", text + "Serializer"));
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(producing)) {
      for (int i = 0; i < 20; ++i) producer.send(new ProducerRecord<>("payments", "key", "value " + i)).get();
    }
    Properties consuming = new Properties();
    consuming.putAll(common);
    consuming.putAll(Map.of("client.id", "java-audit", "group.id", "java", "auto.offset.reset", "earliest"));
    consuming.putAll(Map.of("key.deserializer", text + "Deserializer", "value.deserializer", text + "Deserializer"));
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consuming)) {
      consumer.subscribe(List.of("payments"));
      for (int seen = 0; seen < 30; ) seen += consumer.poll(Duration.ofSeconds(1)).count();
      consumer.commitSync();
    }
    Properties administering = new Properties();
    administering.putAll(common);
    administering.put("client.id", "java-admin");
    try (Admin admin = Admin.create(administering)) {
      admin.describeCluster().nodes().get();
      admin.listConsumerGroups().all().get();
      admin.deleteTopics(List.of("orders")).all().get();
    }
  }
}
