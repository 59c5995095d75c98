package io.tapline.compiler;

import io.tapline.compiler.text.Ast;
import io.tapline.compiler.text.Errors;
import io.tapline.compiler.text.Names;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Reads VLAN and TENANT: numbers, or names of tenants in the inventory. */
final class NetworkReader {
  static final int LAST_VLAN = 4094;
  static final int LAST_TENANT = (1 << 24) - 1;

  private NetworkReader() {}

  static boolean isTenant(int number) {
    return number >= 1 && number <= LAST_TENANT;
  }

  static Set<Integer> vlans(List<Ast.Word> words, Errors errors) {
    Set<Integer> vlans = new LinkedHashSet<>();
    for (Ast.Word word : words) {
      number(word, LAST_VLAN)
          .ifPresentOrElse(
              vlans::add,
              () -> {
                String message = "%s is not a VLAN".formatted(Names.quoted(word.text()));
                errors.range(word.span(), message, "a number from 1 to " + LAST_VLAN);
              });
    }
    return vlans;
  }

  static Set<Integer> tenants(List<Ast.Word> words, Inventory inventory, Errors errors) {
    Set<Integer> tenants = new LinkedHashSet<>();
    for (Ast.Word word : words) {
      Optional<Integer> tenant = inventory.tenant(word.text());
      if (tenant.isEmpty() && word.text().matches("-?[0-9]+")) {
        tenant = number(word, LAST_TENANT);
        if (tenant.isEmpty()) {
          String message = "%s is not a tenant".formatted(Names.quoted(word.text()));
          errors.range(word.span(), message, "a number (VNI) from 1 to " + LAST_TENANT);
        }
      } else if (tenant.isEmpty()) {
        String names = Names.list(inventory.tenants());
        String expected =
            "a number (VNI)" + (names.isEmpty() ? "" : " or one of the inventory's: " + names);
        errors.unknownPlace(word, "tenant", expected, inventory.tenants());
      }
      tenant.ifPresent(tenants::add);
    }
    return tenants;
  }

  private static Optional<Integer> number(Ast.Word word, int last) {
    boolean digits = word.text().matches("0*[0-9]{1,8}");
    return digits
        ? Optional.of(Integer.parseInt(word.text())).filter(number -> number >= 1 && number <= last)
        : Optional.empty();
  }
}
