resource "gantry_image_alias" "base" {
  name   = "base"
  target = "3f53cfe7c9d4a5b21c4e7cdd1c9f3a2e7b45d1b5ff5a4f3fd3bfe7a3d8b0c5aa"
}
