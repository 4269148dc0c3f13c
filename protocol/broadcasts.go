package protocol

// SessionCatalogChanged hints that a session changed.
type SessionCatalogChanged struct {
	_         struct{} `wire:"open"`
	Revision  int64    `json:"revision"`
	SessionID string   `json:"sessionId" wire:"opt"`
}

// ProjectCatalogChanged hints that the projects changed.
type ProjectCatalogChanged struct {
	_        struct{} `wire:"open"`
	Revision int64    `json:"revision"`
}

// ConfigurationChanged hints that the configuration changed.
type ConfigurationChanged struct {
	_        struct{} `wire:"open"`
	Revision int64    `json:"revision"`
}

// ScheduledTaskChanged hints that a scheduled task changed.
type ScheduledTaskChanged struct {
	_        struct{} `wire:"open"`
	Revision int64    `json:"revision"`
	Reason   string   `json:"reason" wire:"opt"`
	TaskID   string   `json:"taskId" wire:"opt"`
}

func (*SessionCatalogChanged) frame()     {}
func (*SessionCatalogChanged) hostFrame() {}
func (*ProjectCatalogChanged) frame()     {}
func (*ProjectCatalogChanged) hostFrame() {}
func (*ConfigurationChanged) frame()      {}
func (*ConfigurationChanged) hostFrame()  {}
func (*ScheduledTaskChanged) frame()      {}
func (*ScheduledTaskChanged) hostFrame()  {}
