package io.tapline.compiler.packets;

import io.tapline.compiler.catalogue.Catalogue;
import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import io.tapline.schema.proto.PrefixLength;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The groups of a trigger: fields, addresses with a prefix length ({@code src_ip/24}, {@code
 * src_ip/24/64} for IPv4 and IPv6), and {@code flow}, which stands for {@link #FLOW}.
 *
 * @param fields words that name fields
 * @param networks prefix lengths of the address fields that are grouped by network
 */
public record GroupWords(List<Ast.Word> fields, List<PrefixLength> networks) {
  /** The fields that identify a flow; flows that differ only in their protocol count as one. */
  public static final List<String> FLOW = List.of("src_ip", "src_port", "dst_ip", "dst_port");

  private static final int IPV4_BITS = 32;
  private static final int IPV6_BITS = 128;
  private static final String LENGTHS =
      "src_ip/24 or dst_ip/24; /1 to /32 for IPv4, /33 to /128 for IPv6, /24/64 for both";

  /**
   * Reads the words of a group. Reports invalid networks; for these, the result contains only the
   * field.
   */
  public static GroupWords read(List<Ast.Word> words, Errors errors) {
    List<Ast.Word> fields = new ArrayList<>();
    List<PrefixLength> networks = new ArrayList<>();
    for (Ast.Word word : words) {
      if (isNetwork(word)) {
        fields.add(field(word));
        network(word, errors).filter(GroupWords::isShorter).ifPresent(networks::add);
      } else if (Names.same(word.text(), "flow")) {
        FLOW.forEach(name -> fields.add(new Ast.Word(name, name, word.span())));
      } else {
        fields.add(word);
      }
    }
    return new GroupWords(List.copyOf(fields), List.copyOf(networks));
  }

  public static boolean isNetwork(Ast.Word word) {
    return word.text().contains("/");
  }

  private static Ast.Word field(Ast.Word word) {
    String name = word.text().substring(0, word.text().indexOf('/'));
    return new Ast.Word(name, name, word.span());
  }

  private static Optional<PrefixLength> network(Ast.Word word, Errors errors) {
    String[] parts = word.text().split("/", -1);
    String normal = Names.normal(parts[0]);
    String name = Catalogue.FIELD_ALIASES.getOrDefault(normal, normal);
    if (!List.of("src_ip", "dst_ip").contains(name)) {
      String message =
          "%s is not an address field, so it has no networks".formatted(Names.quoted(parts[0]));
      errors.type(word.span(), message, "src_ip or dst_ip");
      return Optional.empty();
    }
    List<Integer> lengths = Stream.of(parts).skip(1).map(GroupWords::length).toList();
    int first = lengths.get(0);
    boolean hasBoth = lengths.size() == 2;
    boolean isIpv4 = hasBoth || first <= IPV4_BITS;
    int ipv4 = isIpv4 ? first : IPV4_BITS;
    int ipv6 = hasBoth ? lengths.get(1) : isIpv4 ? IPV6_BITS : first;
    if (lengths.size() > 2 || !isWithin(ipv4, IPV4_BITS) || !isWithin(ipv6, IPV6_BITS)) {
      String message = "%s has no valid prefix length".formatted(Names.quoted(word.text()));
      errors.range(word.span(), message, LENGTHS);
      return Optional.empty();
    }
    return Optional.of(
        PrefixLength.newBuilder().setField(name).setIpv4(ipv4).setIpv6(ipv6).build());
  }

  /** Returns the number if the text is one to three digits, else 0, which is an invalid length. */
  private static int length(String text) {
    return text.matches("[0-9]{1,3}") ? Integer.parseInt(text) : 0;
  }

  private static boolean isWithin(int length, int max) {
    return length >= 1 && length <= max;
  }

  private static boolean isShorter(PrefixLength network) {
    return network.getIpv4() < IPV4_BITS || network.getIpv6() < IPV6_BITS;
  }

  /** Returns a key's fields as queries write them, with prefix lengths. */
  public static List<String> text(List<String> key, List<PrefixLength> networks) {
    return key.stream().map(name -> text(name, networks)).toList();
  }

  private static String text(String name, List<PrefixLength> networks) {
    return networks.stream()
        .filter(network -> network.getField().equals(name))
        .findFirst()
        .map(network -> name + lengths(network.getIpv4(), network.getIpv6()))
        .orElse(name);
  }

  private static String lengths(int ipv4, int ipv6) {
    if (ipv6 == IPV6_BITS) {
      return "/" + ipv4;
    }
    return ipv4 == IPV4_BITS && ipv6 > IPV4_BITS ? "/" + ipv6 : "/%d/%d".formatted(ipv4, ipv6);
  }
}
