// https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/resources
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface DataGantryResourcesConfig extends cdktn.TerraformMetaArguments {
  /**
  * The server of the object: a name from the provider's `remotes`. Default: the server of the provider block.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/resources#remote DataGantryResources#remote}
  */
  readonly remote?: string;
}

/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/resources gantry_resources}
*/
export class DataGantryResources extends cdktn.TerraformDataSource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry_resources";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTN code for importing a DataGantryResources resource upon running "cdktn plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the DataGantryResources to import
  * @param importFromId The id of the existing DataGantryResources that should be imported. Refer to the {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/resources#import import section} in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the DataGantryResources to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktn.TerraformProvider) {
        return new cdktn.ImportableResource(scope, importToId, { terraformResourceType: "gantry_resources", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/data-sources/resources gantry_resources} Data Source
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options DataGantryResourcesConfig = {}
  */
  public constructor(scope: Construct, id: string, config: DataGantryResourcesConfig = {}) {
    super(scope, id, {
      terraformResourceType: 'gantry_resources',
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
    this._remote = config.remote;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // cpu_total - computed: true, optional: false, required: false
  public get cpuTotal() {
    return this.getNumberAttribute('cpu_total');
  }

  // memory_total_bytes - computed: true, optional: false, required: false
  public get memoryTotalBytes() {
    return this.getNumberAttribute('memory_total_bytes');
  }

  // memory_used_bytes - computed: true, optional: false, required: false
  public get memoryUsedBytes() {
    return this.getNumberAttribute('memory_used_bytes');
  }

  // cpu_names - computed: true, optional: false, required: false
  public get cpuNames() {
    return this.getListAttribute('cpu_names');
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
      remote: cdktn.stringToTerraform(this._remote),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
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
