// https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/storage_pool
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface DataGantryStoragePoolConfig extends cdktn.TerraformMetaArguments {
  /**
  * Name of the storage pool.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/storage_pool#name DataGantryStoragePool#name}
  */
  readonly name: string;
  /**
  * The server of the object: a name from the provider's `remotes`. Default: the server of the provider block.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/storage_pool#remote DataGantryStoragePool#remote}
  */
  readonly remote?: string;
}

/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/storage_pool gantry_storage_pool}
*/
export class DataGantryStoragePool extends cdktn.TerraformDataSource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry_storage_pool";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTN code for importing a DataGantryStoragePool resource upon running "cdktn plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the DataGantryStoragePool to import
  * @param importFromId The id of the existing DataGantryStoragePool that should be imported. Refer to the {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/storage_pool#import import section} in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the DataGantryStoragePool to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktn.TerraformProvider) {
        return new cdktn.ImportableResource(scope, importToId, { terraformResourceType: "gantry_storage_pool", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/storage_pool gantry_storage_pool} Data Source
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options DataGantryStoragePoolConfig
  */
  public constructor(scope: Construct, id: string, config: DataGantryStoragePoolConfig) {
    super(scope, id, {
      terraformResourceType: 'gantry_storage_pool',
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

  // driver - computed: true, optional: false, required: false
  public get driver() {
    return this.getStringAttribute('driver');
  }

  // config - computed: true, optional: false, required: false
  private _config = new cdktn.StringMap(this, "config");
  public get config() {
    return this._config;
  }

  // status - computed: true, optional: false, required: false
  public get status() {
    return this.getStringAttribute('status');
  }

  // used_by - computed: true, optional: false, required: false
  public get usedBy() {
    return this.getListAttribute('used_by');
  }

  // space_used_bytes - computed: true, optional: false, required: false
  public get spaceUsedBytes() {
    return this.getNumberAttribute('space_used_bytes');
  }

  // space_total_bytes - computed: true, optional: false, required: false
  public get spaceTotalBytes() {
    return this.getNumberAttribute('space_total_bytes');
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

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      name: cdktn.stringToTerraform(this._name),
      remote: cdktn.stringToTerraform(this._remote),
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
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
