package policy

// Dir is the folder of the machine's policy.
const Dir = "/Library/Application Support/agentworker"
