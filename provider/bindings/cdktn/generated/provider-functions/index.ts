// generated from provider function schema

import * as cdktn from 'cdktn';

/**
* Provider-defined functions of the gantry provider.
*/
export class GantryProviderFunctions {
  private readonly providerLocalName: string;

  /**
  * @param providerLocalName The local name of the provider in required_providers; defaults to the registry short name. Override when the provider is declared under a different local name — aliases do not change the namespace, local names do.
  */
  constructor(providerLocalName: string) {
    this.providerLocalName = providerLocalName;
  }

  /**
  * Turns `debian/12` (an alias), a fingerprint, or `https://host:8443/debian/12` (an alias on another server) into a `source` of `gantry_container`.
  * @param {string} reference - The reference.
  * @returns {object}
  */
  public imageReference(reference: string): cdktn.IResolvable {
    return cdktn.TerraformProviderFunction.invoke(this.providerLocalName, "image_reference", [reference]);
  }

  /**
  * Converts a size such as `512MB` (powers of 1000) or `2GiB` (powers of 1024) to bytes.
  * @param {string} size - The size.
  * @returns {number}
  */
  public parseSize(size: string): number {
    return cdktn.Token.asNumber(cdktn.TerraformProviderFunction.invoke(this.providerLocalName, "parse_size", [size]));
  }
}
