// References into maps that the generators do not support: quoted keys, and maps of maps.
import { AnyMap, StringMap, Token } from 'cdktn';

/** A key inside a reference: `interfaces["eth0"]`. A key that only Terraform knows, such as `each.key`, is a reference itself. */
export function mapKey(key: string): string {
  if (Token.isUnresolved(key)) return key;
  const escaped = key
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll(/[$%](?=\{)/g, '$&$&')
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u001f]/g, (letter) => String.raw`\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}

/** Devices by name: `container.expandedDevices.lookup('eth0').lookup('parent')`. */
export class StringMapMap extends AnyMap {
  override lookup(key: string): StringMap {
    return new StringMap(this.terraformResource, `${this.terraformAttribute}[${mapKey(key)}]`);
  }
}
