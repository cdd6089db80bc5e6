package policy

// Dir is the folder of the machine's policy. No variable of the environment names it.
const Dir = `C:\ProgramData\agentworker`
