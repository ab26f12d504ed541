// https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container
// generated from terraform resource schema

import { StringMapMap } from '../../maps';
import { mapKey } from '../../maps';
import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface DataGantryContainerConfig extends cdktn.TerraformMetaArguments {
  /**
  * Name of the container.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container#name DataGantryContainer#name}
  */
  readonly name: string;
  /**
  * The server of the object: a name from the provider's `remotes`. Default: the server of the provider block.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container#remote DataGantryContainer#remote}
  */
  readonly remote?: string;
  /**
  * Project of the object, on servers with projects. Default: the project of the provider.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container#project DataGantryContainer#project}
  */
  readonly project?: string;
}
export interface DataGantryContainerInterfaces {
}

export function dataGantryContainerInterfacesToTerraform(struct?: DataGantryContainerInterfaces): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  return {
  }
}


export function dataGantryContainerInterfacesToHclTerraform(struct?: DataGantryContainerInterfaces): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  const attrs = {
  };
  return attrs;
}

export class DataGantryContainerInterfacesOutputReference extends cdktn.ComplexObject {
  private isEmptyObject = false;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  * @param complexObjectKey the key of this item in the map
  */
  public constructor(terraformResource: cdktn.IInterpolatingParent, terraformAttribute: string, complexObjectKey: string) {
    super(terraformResource, terraformAttribute, false, complexObjectKey);
  }

  public get internalValue(): DataGantryContainerInterfaces | undefined {
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: DataGantryContainerInterfaces | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
    }
  }

  // mac_address - computed: true, optional: false, required: false
  public get macAddress() {
    return this.getStringAttribute('mac_address');
  }

  // ipv4_addresses - computed: true, optional: false, required: false
  public get ipv4Addresses() {
    return this.getListAttribute('ipv4_addresses');
  }

  // ipv6_addresses - computed: true, optional: false, required: false
  public get ipv6Addresses() {
    return this.getListAttribute('ipv6_addresses');
  }
}

export class DataGantryContainerInterfacesMap extends cdktn.ComplexMap {

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  constructor(terraformResource: cdktn.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute);
  }

  /**
  * @param key the key of the item to return
  */
  public get(key: string): DataGantryContainerInterfacesOutputReference {
    return new DataGantryContainerInterfacesOutputReference(this.terraformResource, this.terraformAttribute, mapKey(key));
  }
}

/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container gantry_container}
*/
export class DataGantryContainer extends cdktn.TerraformDataSource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry_container";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTN code for importing a DataGantryContainer resource upon running "cdktn plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the DataGantryContainer to import
  * @param importFromId The id of the existing DataGantryContainer that should be imported. Refer to the {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container#import import section} in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the DataGantryContainer to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktn.TerraformProvider) {
        return new cdktn.ImportableResource(scope, importToId, { terraformResourceType: "gantry_container", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/container gantry_container} Data Source
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options DataGantryContainerConfig
  */
  public constructor(scope: Construct, id: string, config: DataGantryContainerConfig) {
    super(scope, id, {
      terraformResourceType: 'gantry_container',
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
    this._name = config.name;
    this._remote = config.remote;
    this._project = config.project;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // name - computed: false, optional: false, required: true
  private _name?: string; 
  public get name() {
    return this.getStringAttribute('name');
  }
  public set name(value: string) {
    this._name = value;
  }
  // Temporarily expose input value. Use with caution.
  public get nameInput() {
    return this._name;
  }

  // description - computed: true, optional: false, required: false
  public get description() {
    return this.getStringAttribute('description');
  }

  // status - computed: true, optional: false, required: false
  public get status() {
    return this.getStringAttribute('status');
  }

  // running - computed: true, optional: false, required: false
  public get running() {
    return this.getBooleanAttribute('running');
  }

  // architecture - computed: true, optional: false, required: false
  public get architecture() {
    return this.getStringAttribute('architecture');
  }

  // ephemeral - computed: true, optional: false, required: false
  public get ephemeral() {
    return this.getBooleanAttribute('ephemeral');
  }

  // profiles - computed: true, optional: false, required: false
  public get profiles() {
    return this.getListAttribute('profiles');
  }

  // location - computed: true, optional: false, required: false
  public get location() {
    return this.getStringAttribute('location');
  }

  // created_at - computed: true, optional: false, required: false
  public get createdAt() {
    return this.getStringAttribute('created_at');
  }

  // ipv4_address - computed: true, optional: false, required: false
  public get ipv4Address() {
    return this.getStringAttribute('ipv4_address');
  }

  // ipv6_address - computed: true, optional: false, required: false
  public get ipv6Address() {
    return this.getStringAttribute('ipv6_address');
  }

  // mac_address - computed: true, optional: false, required: false
  public get macAddress() {
    return this.getStringAttribute('mac_address');
  }

  // config - computed: true, optional: false, required: false
  private _config = new cdktn.StringMap(this, "config");
  public get config() {
    return this._config;
  }

  // devices - computed: true, optional: false, required: false
  private _devices = new StringMapMap(this, "devices");
  public get devices() {
    return this._devices;
  }

  // expanded_config - computed: true, optional: false, required: false
  private _expandedConfig = new cdktn.StringMap(this, "expanded_config");
  public get expandedConfig() {
    return this._expandedConfig;
  }

  // expanded_devices - computed: true, optional: false, required: false
  private _expandedDevices = new StringMapMap(this, "expanded_devices");
  public get expandedDevices() {
    return this._expandedDevices;
  }

  // interfaces - computed: true, optional: false, required: false
  private _interfaces = new DataGantryContainerInterfacesMap(this, "interfaces");
  public get interfaces() {
    return this._interfaces;
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
      name: cdktn.stringToTerraform(this._name),
      remote: cdktn.stringToTerraform(this._remote),
      project: cdktn.stringToTerraform(this._project),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      name: {
        value: cdktn.stringToHclTerraform(this._name),
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
