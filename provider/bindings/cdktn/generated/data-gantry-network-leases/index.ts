// https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface DataGantryNetworkLeasesConfig extends cdktn.TerraformMetaArguments {
  /**
  * Name of the network.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases#network DataGantryNetworkLeases#network}
  */
  readonly network: string;
  /**
  * The server of the object: a name from the provider's `remotes`. Default: the server of the provider block.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases#remote DataGantryNetworkLeases#remote}
  */
  readonly remote?: string;
  /**
  * Project of the object, on servers with projects. Default: the project of the provider.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases#project DataGantryNetworkLeases#project}
  */
  readonly project?: string;
}
export interface DataGantryNetworkLeasesLeases {
}

export function dataGantryNetworkLeasesLeasesToTerraform(struct?: DataGantryNetworkLeasesLeases): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  return {
  }
}


export function dataGantryNetworkLeasesLeasesToHclTerraform(struct?: DataGantryNetworkLeasesLeases): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  const attrs = {
  };
  return attrs;
}

export class DataGantryNetworkLeasesLeasesOutputReference extends cdktn.ComplexObject {
  private isEmptyObject = false;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectIndex the index of this item in the list
  * @param complexObjectIsFromSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  public constructor(terraformResource: cdktn.IInterpolatingParent, terraformAttribute: string, complexObjectIndex: number, complexObjectIsFromSet: boolean) {
    super(terraformResource, terraformAttribute, complexObjectIsFromSet, complexObjectIndex);
  }

  public get internalValue(): DataGantryNetworkLeasesLeases | undefined {
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: DataGantryNetworkLeasesLeases | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
    }
  }

  // hostname - computed: true, optional: false, required: false
  public get hostname() {
    return this.getStringAttribute('hostname');
  }

  // mac_address - computed: true, optional: false, required: false
  public get macAddress() {
    return this.getStringAttribute('mac_address');
  }

  // address - computed: true, optional: false, required: false
  public get address() {
    return this.getStringAttribute('address');
  }

  // type - computed: true, optional: false, required: false
  public get type() {
    return this.getStringAttribute('type');
  }

  // location - computed: true, optional: false, required: false
  public get location() {
    return this.getStringAttribute('location');
  }
}

export class DataGantryNetworkLeasesLeasesList extends cdktn.ComplexList {

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param wrapsSet whether the list is wrapping a set (will add tolist() to be able to access an item via an index)
  */
  constructor(terraformResource: cdktn.IInterpolatingParent, terraformAttribute: string, wrapsSet: boolean) {
    super(terraformResource, terraformAttribute, wrapsSet);
  }

  /**
  * @param index the index of the item to return
  */
  public get(index: number): DataGantryNetworkLeasesLeasesOutputReference {
    return new DataGantryNetworkLeasesLeasesOutputReference(this.terraformResource, this.terraformAttribute, index, this.wrapsSet);
  }
}

/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases gantry_network_leases}
*/
export class DataGantryNetworkLeases extends cdktn.TerraformDataSource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry_network_leases";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTN code for importing a DataGantryNetworkLeases resource upon running "cdktn plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the DataGantryNetworkLeases to import
  * @param importFromId The id of the existing DataGantryNetworkLeases that should be imported. Refer to the {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases#import import section} in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the DataGantryNetworkLeases to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktn.TerraformProvider) {
        return new cdktn.ImportableResource(scope, importToId, { terraformResourceType: "gantry_network_leases", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/network_leases gantry_network_leases} Data Source
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options DataGantryNetworkLeasesConfig
  */
  public constructor(scope: Construct, id: string, config: DataGantryNetworkLeasesConfig) {
    super(scope, id, {
      terraformResourceType: 'gantry_network_leases',
      terraformGeneratorMetadata: {
        providerName: 'gantry',
        providerVersionConstraint: '~> 0.1'
      },
      provider: config.provider,
      dependsOn: config.dependsOn,
      count: config.count,
      lifecycle: config.lifecycle,
      provisioners: config.provisioners,
      connection: config.connection,
      forEach: config.forEach
    });
    this._network = config.network;
    this._remote = config.remote;
    this._project = config.project;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // network - computed: false, optional: false, required: true
  private _network?: string; 
  public get network() {
    return this.getStringAttribute('network');
  }
  public set network(value: string) {
    this._network = value;
  }
  // Temporarily expose input value. Use with caution.
  public get networkInput() {
    return this._network;
  }

  // leases - computed: true, optional: false, required: false
  private _leases = new DataGantryNetworkLeasesLeasesList(this, "leases", false);
  public get leases() {
    return this._leases;
  }

  // remote - computed: false, optional: true, required: false
  private _remote?: string; 
  public get remote() {
    return this.getStringAttribute('remote');
  }
  public set remote(value: string) {
    this._remote = value;
  }
  public resetRemote() {
    this._remote = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get remoteInput() {
    return this._remote;
  }

  // project - computed: false, optional: true, required: false
  private _project?: string; 
  public get project() {
    return this.getStringAttribute('project');
  }
  public set project(value: string) {
    this._project = value;
  }
  public resetProject() {
    this._project = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get projectInput() {
    return this._project;
  }

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      network: cdktn.stringToTerraform(this._network),
      remote: cdktn.stringToTerraform(this._remote),
      project: cdktn.stringToTerraform(this._project),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      network: {
        value: cdktn.stringToHclTerraform(this._network),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      remote: {
        value: cdktn.stringToHclTerraform(this._remote),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      project: {
        value: cdktn.stringToHclTerraform(this._project),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
